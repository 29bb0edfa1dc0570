"""The parsed modules of a Python server, and what their names and constants mean. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname, splitext

from gateval.domain.setup.import_graph import python_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
Model = tuple[str, ast.ClassDef]
"""A class with the path of its module, where the types of its fields are named."""

MOST_STEPS = 8
"""Names that lead from one to the next, and models inside one another."""


_ENV_PREFIX = re.compile(r"env_prefix\W{1,4}=?\s*['\"](\w*)")


@dataclass(frozen=True)
class Modules:
    """The parsed modules of a server by path, the one with the application first."""

    trees: Mapping[str, ast.Module]

    @staticmethod
    def of(texts: Mapping[str, str]) -> Modules:
        """Parse what can be parsed of the modules."""
        parsed = ((path, python_tree(text)) for path, text in texts.items())
        return Modules({path: tree for path, tree in parsed if tree})

    def nodes(self, path: str) -> Iterator[ast.AST]:
        """Give every node of a module."""
        return iter(self._nodes[path])

    @cached_property
    def _nodes(self) -> dict[str, list[ast.AST]]:
        return {path: list(ast.walk(tree)) for path, tree in self.trees.items()}

    def says(self, text: str) -> bool:
        """Whether a module has exactly this text."""
        return any(
            isinstance(one, ast.Constant) and one.value == text
            for path in self.trees
            for one in self.nodes(path)
        )

    def model(self, path: str, name: str) -> Model | None:
        """Return the class that a name means in a module: the imported one before others."""
        where, own = self.place(path, ast.Name(name))
        if own in self._classes.get(where, {}):
            return where, self._classes[where][own]
        found = ((one, classes[name]) for one, classes in self._classes.items() if name in classes)
        return next(found, None)

    def meant(self, path: str, name: str) -> str:
        """Return the name of what a module imports as `name`."""
        return self._imported[path].get(name, ("", ""))[1] or name

    def returned(self, path: str, name: str) -> str:
        """Return the variable that a function of the module gives back, "" where none is told."""
        for node in self.nodes(path):
            if isinstance(node, Function) and node.name == name:
                given = (one.value for one in ast.walk(node) if isinstance(one, ast.Return))
                return next((name_of(one) for one in given if isinstance(one, ast.Name)), "")
        return ""

    def place(self, path: str, node: ast.expr) -> tuple[str, str]:
        """Return the module and the name there of what an expression of the module at `path` means,
        as far as imports tell.
        """
        if isinstance(node, ast.Call):
            where, name = self.place(path, node.func)
            return where, self.returned(where, name)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self._imported[path].get(node.value.id, (node.value.id, ""))
            dotted = ".".join(filter(None, module))
            return self._followed(path, dotted, node.attr) or (path, node.attr)
        if isinstance(node, ast.Name):
            module = self._imported[path].get(node.id, ("", ""))
            return (self._followed(path, *module) if module[1] else None) or (path, node.id)
        return path, ""

    def text(self, path: str, node: ast.expr | None, left: int = MOST_STEPS) -> str:
        """Return the text of an expression of the module at `path`, "" where nothing tells: names
        are those of constants, settings and arguments, wherever they get their value.
        """
        if node is None or left <= 0:
            return ""
        if isinstance(node, ast.Name | ast.Attribute):
            where, value = self.set_to(path, node)
            return self.text(where, value, left - 1)
        if isinstance(node, ast.JoinedStr):
            return "".join(self.text(path, one, left) for one in node.values)
        if isinstance(node, ast.FormattedValue):
            return self.text(path, node.value, left)
        if isinstance(node, ast.BinOp):
            return self.text(path, node.left, left) + self.text(path, node.right, left)
        if isinstance(node, ast.BoolOp | ast.Call):
            some = node.values if isinstance(node, ast.BoolOp) else _defaults(node)
            return next(filter(None, (self.text(path, one, left - 1) for one in some)), "")
        return text_of(node)

    def texts(self, path: str, node: ast.expr | None, left: int = MOST_STEPS) -> list[str]:
        """Return the texts that an expression is, or lists, by its names too."""
        if isinstance(node, ast.Name | ast.Attribute) and left > 0:
            return self.texts(*self.set_to(path, node), left - 1)
        if isinstance(node, ast.Dict):
            return [text_of(one) for one in node.keys]
        return [text_of(one) for one in getattr(node, "elts", [node])]

    def set_to(self, path: str, node: ast.expr) -> tuple[str, ast.expr | None]:
        """Return what a name is set to, and the module that does: the one it comes from, else this
        one, else any.
        """
        place, name = self.place(path, node), name_of(node)
        for where, own in (place, (path, name)):
            if own in self._set.get(where, {}):
                return where, self._set[where][own]
        found = ((where, names[name]) for where, names in self._set.items() if name in names)
        return next(found, (path, None))

    @cached_property
    def _set(self) -> dict[str, dict[str, ast.expr]]:
        """What each name of each module is set to first, or is by default as an argument."""
        found: dict[str, dict[str, ast.expr]] = {path: {} for path in self.trees}
        for path, names in found.items():
            given: dict[str, ast.expr] = {}
            for node in self.nodes(path):
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names.setdefault(name_of(targets[0]), node.value)
                elif isinstance(node, Function):
                    given |= {one.arg: value for one, value in arguments(node) if value}
            found[path] = given | names
        return found

    def setting(self, name: str) -> str:
        """Return the variable of the environment that fills a field of `BaseSettings`, "" for none
        of them.
        """
        for classes in self._classes.values():
            for made in classes.values():
                fields = [one for one in made.body if isinstance(one, ast.AnnAssign)]
                own = next((one for one in fields if name_of(one.target) == name), None)
                if own and any("Settings" in name_of(base) for base in made.bases):
                    named = isinstance(own.value, ast.Call) and (
                        keyword_of(own.value, "validation_alias") or keyword_of(own.value, "alias")
                    )
                    prefix = _ENV_PREFIX.search(ast.unparse(made))
                    return text_of(named or None) or f"{prefix[1] if prefix else ''}{name}".upper()
        return ""

    def functions(self, path: str, node: ast.expr) -> list[tuple[str, Function]]:
        """Return the function that an expression of the module at `path` means, with its module;
        of a class its methods. A method of some object is told by its name, if there is but one.
        """
        node = node.func if isinstance(node, ast.Call) else node
        where, name = self.place(path, node)
        found = [(where, one) for one in self._functions.get(name, {}).get(where, [])]
        made = self._classes[where].get(name)
        body = made.body if made else []
        found += [(where, one) for one in body if isinstance(one, Function)]
        if not found and isinstance(node, ast.Attribute):
            every = self._functions.get(name, {})
            found = [(other, one) for other, each in every.items() for one in each]
            found = found if len(found) == 1 else []
        return found

    @cached_property
    def _functions(self) -> dict[str, dict[str, list[Function]]]:
        """The functions and methods of all modules, by their name and then by the module."""
        found: dict[str, dict[str, list[Function]]] = {}
        for path in self.trees:
            for node in self.nodes(path):
                if isinstance(node, Function):
                    found.setdefault(node.name, {}).setdefault(path, []).append(node)
        return found

    @cached_property
    def _classes(self) -> dict[str, dict[str, ast.ClassDef]]:
        return {
            path: {node.name: node for node in self.nodes(path) if isinstance(node, ast.ClassDef)}
            for path in self.trees
        }

    def _followed(self, here: str, module: str, name: str) -> tuple[str, str] | None:
        for _ in range(MOST_STEPS):
            path = self._file(module, here)
            if path is None:
                return None
            further = self._imported[path].get(name)
            if further is None or not further[1]:
                return path, name
            here, (module, name) = path, further
        return None

    def _file(self, module: str, here: str) -> str | None:
        """Return the file that a dotted name means: most of its last parts are those of the file's
        path, and of several it is the nearest.
        """
        wanted, near = module.split(".")[::-1], _parts(here)
        ranked = (
            (_same(wanted, _parts(one)[::-1]), _same(near, _parts(one)), one) for one in self.trees
        )
        best = max(ranked, default=(0, 0, ""), key=lambda one: one[:2])
        return best[2] if best[0] else None

    @cached_property
    def _imported(self) -> dict[str, dict[str, tuple[str, str]]]:
        """What each imported name of each module is: a module, dotted, and a name there."""
        found: dict[str, dict[str, tuple[str, str]]] = {path: {} for path in self.trees}
        for path, names in found.items():
            for node in self.nodes(path):
                if isinstance(node, ast.ImportFrom):
                    above = dirname(path).split("/") if node.level else []
                    kept = above[: len(above) - max(node.level - 1, 0)]
                    module = ".".join([*kept, *filter(None, [node.module])])
                    names |= {one.asname or one.name: (module, one.name) for one in node.names}
                elif isinstance(node, ast.Import):
                    names |= {one.asname or one.name: (one.name, "") for one in node.names}
        return found


def _parts(path: str) -> list[str]:
    """Return the names of a module's path, without `__init__`."""
    parts = splitext(path)[0].split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts


def _same(some: list[str], others: list[str]) -> int:
    """Return how many of the first parts of two paths are the same."""
    alike = [one == other for one, other in zip(some, others, strict=False)]
    return alike.index(False) if False in alike else len(alike)


def _defaults(call: ast.Call) -> list[ast.expr]:
    """Return what of a call may be the value: a default by its name or behind the name of a
    variable, then what stands before `.rstrip("/")`, the path among its arguments, the first.
    """
    default = keyword_of(call, "default")
    looked_up = called_by(call) in {"getenv", "get", "config", "env", "getattr"}
    stripped = call.func.value if isinstance(call.func, ast.Attribute) else None
    if stripped and called_by(call) in {"strip", "rstrip", "lstrip"}:
        return [stripped]
    paths = [one for one in call.args if text_of(one).startswith("/")]
    some = [default, *call.args[1:]] if looked_up else [default, *paths[-1:], stripped, *call.args]
    return [one for one in some if one is not None]


def arguments(function: Function) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield the parameters of a function with their defaults."""
    given = function.args
    places = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(places) - len(given.defaults))
    yield from zip(places, [*missing, *given.defaults], strict=True)
    yield from zip(given.kwonlyargs, given.kw_defaults, strict=True)


def called_by(node: ast.AST) -> str:
    """Return the last name of what a call calls, "" for anything else."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """Return what a call is given by a name."""
    return next((one.value for one in call.keywords if one.arg == name), None)


def text_of(node: ast.expr | None) -> str:
    """Return the text that an expression is, "" for any other."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def name_of(kind: ast.AST | None) -> str:
    """Return the last name of a type or a variable, "" for anything else."""
    if isinstance(kind, ast.Subscript):
        kind = kind.value
    if isinstance(kind, ast.Attribute):
        return kind.attr
    return kind.id if isinstance(kind, ast.Name) else ""
