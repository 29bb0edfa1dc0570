"""The functions of the product, and the mutants that each of them has.

The operators are PIT's defaults as far as Python has them, and keyword arguments left out. Texts
stay as they are, and so do annotations, decorators and defaults, which run before any test does.
"""

from __future__ import annotations

import ast
import copy
import functools
import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src"

Def = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, ast.AST, ast.AST]
"""Operator, node, and the node in its place."""

_YIELDS = (ast.Yield, ast.YieldFrom)

SAME = ("function", "operator", "before", "after", "nth")
"""What makes two records about the same mutant."""


@dataclass(frozen=True)
class Mutant:
    """One change to one function; `nth` counts those of the same texts before it there.

    `line` is that of its statement.
    """

    function: str
    operator: str
    before: str
    after: str
    nth: int
    line: int = field(compare=False)
    node: ast.AST = field(compare=False, repr=False)
    instead: ast.AST = field(compare=False, repr=False)

    def fits(self, function: Def) -> bool:
        """Whether the function stays one of its sort: what no longer yields is another."""
        gone = isinstance(self.node, ast.Expr) and isinstance(self.node.value, _YIELDS)
        return not gone or sum(isinstance(each, _YIELDS) for each in ast.walk(function)) > 1

    def record(self) -> dict[str, Any]:
        """Return what a file keeps of it."""
        return {name: getattr(self, name) for name in SAME}


@dataclass(frozen=True)
class Function:
    """A function at the top of a module or class, with those inside it: `a.module:Class.f`."""

    name: str
    path: Path
    module: ast.Module = field(repr=False)
    node: Def = field(repr=False)

    @property
    def room(self) -> str:
        """Return the room of `gateval.domain` in which it stands."""
        return room_of(self.name)

    @property
    def key(self) -> tuple[str, str, int]:
        """Return how its code object says where it stands."""
        first = min([self.node.lineno, *(each.lineno for each in self.node.decorator_list)])
        return str(self.path), self.name.partition(":")[2], first

    @functools.cached_property
    def mutants(self) -> list[Mutant]:
        """Return all its mutants whose code can stand in its place, as they stand in its text."""
        seen: Counter[tuple[str, str, str]] = Counter()
        found, lines = [], dict(_lines(self.node, 0))
        for operator, node, instead in _changes(self.node, self.node.returns):
            same = (operator, ast.unparse(node), ast.unparse(instead))
            found.append(Mutant(self.name, *same, seen[same], lines[node], node, instead))
            seen[same] += 1
        return [mutant for mutant in found if mutant.fits(self.node)]

    @functools.cached_property
    def words(self) -> Counter[str]:
        """Return what it is made of, to find it again under another name."""
        return Counter(re.findall(r"\w+|[^\w\s]", "\n".join(map(ast.unparse, self.node.body))))

    def code(self, mutant: Mutant | None = None) -> types.CodeType:
        """Return its code object, with a mutant's change."""
        if mutant is None:
            return self._compiled(self.module)
        _Exchange(mutant.node, ast.copy_location(mutant.instead, mutant.node)).visit(self.node)
        try:
            return self._compiled(self.module)
        finally:
            _Exchange(mutant.instead, mutant.node).visit(self.node)

    def marked(self) -> types.CodeType:
        """Return its code object with calls of `_reached(name, line)` before each statement."""
        module = copy.deepcopy(self.module)
        defs = (node for node in ast.walk(module) if isinstance(node, Def))
        mine = next(node for node in defs if node.lineno == self.node.lineno)
        for node in list(ast.walk(mine)):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list):
                    block[:] = [one for each in block for one in (self._mark(each), each)]
        return self._compiled(module)

    def _mark(self, statement: ast.stmt) -> ast.stmt:
        return ast.parse(f"_reached({self.name!r}, {statement.lineno})").body[0]

    def _compiled(self, module: ast.Module) -> types.CodeType:
        code = compile(ast.fix_missing_locations(module), str(self.path), "exec")
        return next(each for each in _codes(code) if key_of(each) == self.key)


def _lines(node: ast.AST, line: int) -> Iterator[tuple[ast.AST, int]]:
    """Yield each node with the line of the statement in which it stands."""
    if isinstance(node, ast.stmt):
        line = node.lineno
    yield node, line
    for child in ast.iter_child_nodes(node):
        yield from _lines(child, line)


class _Exchange(ast.NodeTransformer):
    def __init__(self, node: ast.AST, instead: ast.AST) -> None:
        self.node, self.instead = node, instead

    def visit(self, node: ast.AST) -> Any:
        return self.instead if node is self.node else self.generic_visit(node)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def key_of(code: types.CodeType) -> tuple[str, str, int]:
    """Return where a code object comes from."""
    return code.co_filename, code.co_qualname, code.co_firstlineno


def room_of(name: str) -> str:
    """Return the room of `gateval.domain` in which a function of this name stands."""
    return name.partition(":")[0].removeprefix("gateval.domain.").partition(".")[0]


def functions_in(folder: Path) -> list[Function]:
    """Return the functions below a folder of `src`."""
    paths = sorted(folder.rglob("*.py"))
    return [each for path in paths for each in functions_of(path.read_text("utf-8"), path)]


def functions_of(text: str, path: Path) -> Iterator[Function]:
    """Yield the functions of a module."""
    module = ast.parse(text)
    dotted = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")

    def inside(body: Iterable[ast.AST], prefix: str) -> Iterator[Function]:
        for node in body:
            if isinstance(node, Def):
                yield Function(f"{dotted}:{prefix}{node.name}", path, module, node)
            elif isinstance(node, ast.ClassDef):
                yield from inside(node.body, f"{prefix}{node.name}.")

    yield from inside(module.body, "")


Kinds = dict[type[ast.AST], type[Any]]


def _both(*pairs: tuple[type[ast.AST], type[ast.AST]]) -> Kinds:
    return {**dict(pairs), **{other: one for one, other in pairs}}


_BOUNDARY = _both((ast.Lt, ast.LtE), (ast.Gt, ast.GtE))
_OPPOSITE = _both(
    *((ast.Lt, ast.GtE), (ast.Gt, ast.LtE), (ast.Eq, ast.NotEq)),
    *((ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
)
_ARITHMETIC: Kinds = {
    **_both((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr)),
    **dict.fromkeys((ast.FloorDiv, ast.Mod, ast.Pow), ast.Mult),
}
_CALLED = {"any": "all", "all": "any", "min": "max", "max": "min"}
_EMPTY = {
    **dict.fromkeys(("tuple", "Sequence", "Iterable"), "()"),
    **dict.fromkeys(("dict", "Mapping"), "{}"),
    **{kind: f"{kind}()" for kind in ("str", "list", "set", "frozenset")},
}
_NEVER_RUN = {
    "annotation",
    "returns",
    "decorator_list",
    "defaults",
    "kw_defaults",
    "pattern",
    "format_spec",
}


def _changes(node: ast.AST, returns: ast.expr | None) -> Iterator[Change]:
    """Yield what may be changed below a node; `returns` is what its function says it returns."""
    for child in _parts(node):
        if isinstance(child, ast.Return):
            yield from _returned(child, returns)
        for change in _CHANGES:
            yield from change(child)
        yield from _changes(child, child.returns if isinstance(child, Def) else returns)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the children of a node that run when its function does; prose does nothing."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            prose = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not prose and name not in _NEVER_RUN:
                yield child


def _comparison(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for name, table in (("boundary", _BOUNDARY), ("negation", _OPPOSITE)):
                if other := table.get(type(operator)):
                    ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
                    yield name, node, ast.Compare(node.left, ops, node.comparators)


def _condition(node: ast.AST) -> Iterator[Change]:
    """Negate what is asked; comparisons are negated as such."""
    asked: list[ast.expr] = []
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        asked = [node.test]
    elif isinstance(node, ast.comprehension):
        asked = node.ifs
    elif isinstance(node, ast.BoolOp):
        asked = node.values
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "connective", node, ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "negation", node, node.operand
    for each in asked:
        is_not = isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not)
        if not (is_not or isinstance(each, ast.Compare | ast.BoolOp | ast.Constant)):
            yield "negation", each, ast.UnaryOp(ast.Not(), each)


def _calculation(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.BinOp) and (other := _ARITHMETIC.get(type(node.op))):
        yield "arithmetic", node, ast.BinOp(node.left, other(), node.right)
    elif isinstance(node, ast.AugAssign) and (other := _ARITHMETIC.get(type(node.op))):
        yield "arithmetic", node, ast.AugAssign(node.target, other(), node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", node, ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", node, ast.Constant(node.value + 1)


def _call(node: ast.AST) -> Iterator[Change]:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and (other := _CALLED.get(node.func.id)):
        yield "call", node, ast.Call(ast.Name(other, ast.Load()), node.args, node.keywords)
    for at, keyword in enumerate(node.keywords):
        if keyword.arg:
            rest = [*node.keywords[:at], *node.keywords[at + 1 :]]
            yield "argument", node, ast.Call(node.func, node.args, rest)


def _statement(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Expr | ast.Raise | ast.AugAssign | ast.Continue | ast.Break):
        yield "statement", node, ast.Pass()


def _returned(node: ast.Return, returns: ast.expr | None) -> Iterator[Change]:
    said = ast.unparse(returns) if returns else ""
    value = ast.unparse(node.value) if node.value else "None"
    instead = _EMPTY.get(said.partition("[")[0])
    if said == "bool":
        instead = f"not ({value})"
    elif said in {"int", "float"}:
        instead = f"({value}) + 1"
    elif said.endswith("| None"):
        instead = "None"
    if instead is not None and value not in {instead, "''", "[]"}:
        yield "return", node, ast.parse(f"return {instead}").body[0]


_CHANGES: tuple[Callable[[ast.AST], Iterator[Change]], ...]
_CHANGES = (_comparison, _condition, _calculation, _call, _statement)
