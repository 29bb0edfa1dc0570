"""What a function of Python gives back that makes an agent: that agent, or something else. Pure."""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator

from gateval.domain.setup.import_graph import python_tree
from gateval.domain.setup.python_text import dotted


def gives_agent(function: str, makers: str) -> bool:
    """Whether a function, by its text, gives back what a call of one of `makers` makes: not a tuple
    with it, no thing of a kind of its own around it, and not nothing.
    """
    tree = python_tree(function)
    if tree is None or not tree.body:
        return False
    inside = list(_inside(tree.body[0]))
    made: set[str] = set()
    for _ in range(2):  # one may be made of another that stands below it
        for names, value in _kept(inside):
            if _is_made(value, makers, made):
                made |= names
    given = (one.value for one in inside if isinstance(one, ast.Return) and one.value)
    return any(_is_made(one, makers, made) for one in given)


_OTHERS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a function, but for the functions and classes in it."""
    waiting = deque(ast.iter_child_nodes(node))
    while waiting:
        one = waiting.popleft()
        if not isinstance(one, _OTHERS):
            yield one
            waiting.extend(ast.iter_child_nodes(one))


def _kept(inside: list[ast.AST]) -> Iterator[tuple[set[str], ast.expr]]:
    """Yield what is kept under names, with those."""
    for one in inside:
        if isinstance(one, ast.Assign):
            yield {*filter(None, map(dotted, one.targets))}, one.value
        elif isinstance(one, ast.AnnAssign | ast.NamedExpr) and one.value:
            yield {dotted(one.target)} - {""}, one.value
        elif isinstance(one, ast.withitem) and one.optional_vars:
            yield {dotted(one.optional_vars)} - {""}, one.context_expr


def _is_made(node: ast.expr, makers: str, made: set[str]) -> bool:
    """Whether an expression is what one of `makers` makes, or something of its own that this gives:
    `agent.with_config()` is.
    """
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Await | ast.NamedExpr):
            waiting.append(one.value)
        elif isinstance(one, ast.BoolOp):
            waiting += one.values
        elif isinstance(one, ast.IfExp):
            waiting += (one.body, one.orelse)
        elif isinstance(one, ast.Call):
            named = one.func.value if isinstance(one.func, ast.Subscript) else one.func
            name = dotted(named)
            if re.fullmatch(makers, name) or name.endswith(".compile"):
                return True
            if isinstance(named, ast.Attribute):
                waiting.append(named.value)
        elif dotted(one) in made:
            return True
    return False
