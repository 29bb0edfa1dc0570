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

_TELLS = re.compile(r"[Rr]outer|FastAPI|Model\b|Schema\b|Settings\b|Enum\b")


@dataclass(frozen=True)
class Modules:
    """The parsed modules of a server by path, the one with the application first."""

    trees: Mapping[str, ast.Module]

    @staticmethod
    def of(texts: Mapping[str, str]) -> Modules:
        """Parse what can be parsed, of the modules that may say how the server is asked."""
        trees = {}
        for path, text in texts.items():
            if not _TELLS.search(text):
                continue
            if tree := python_tree(text):
                trees[path] = tree
        return Modules(trees)

    def nodes(self, path: str) -> Iterator[ast.AST]:
        """Give every node of a module."""
        return ast.walk(self.trees[path])

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

    def text(self, node: ast.expr | None) -> str:
        """Return the text of an expression: names are those of constants, wherever they are set."""
        if isinstance(node, ast.Name | ast.Attribute):
            return self._constants.get(name_of(node), "")
        if isinstance(node, ast.JoinedStr):
            return "".join(map(self.text, node.values))
        if isinstance(node, ast.FormattedValue):
            return self.text(node.value)
        if isinstance(node, ast.BinOp):
            return self.text(node.left) + self.text(node.right)
        return text_of(node)

    @cached_property
    def _constants(self) -> dict[str, str]:
        """The paths that variables and settings hold by their names, or default to."""
        found: dict[str, str] = {}
        for path in self.trees:
            for node in self.nodes(path):
                if not isinstance(node, ast.Assign | ast.AnnAssign):
                    continue
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                value = node.value
                given = (
                    [*value.args, *(one.value for one in value.keywords)]
                    if isinstance(value, ast.Call)
                    else [value]
                )
                paths = [one for one in map(text_of, given) if one.startswith("/")]
                if name_of(target) and paths:
                    found.setdefault(name_of(target), paths[-1])
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
