"""What a function of Python gives back that makes an agent: that agent, or something else. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gateval.domain.setup.import_graph import python_tree


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


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a function, but for the functions and classes in it."""
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield one
            yield from _inside(one)


def _kept(inside: list[ast.AST]) -> Iterator[tuple[set[str], ast.expr]]:
    """Yield what is kept under names, with those."""
    for one in inside:
        if isinstance(one, ast.Assign):
            yield {ast.unparse(name) for name in one.targets}, one.value
        elif isinstance(one, ast.AnnAssign | ast.NamedExpr) and one.value:
            yield {ast.unparse(one.target)}, one.value
        elif isinstance(one, ast.withitem) and one.optional_vars:
            yield {ast.unparse(one.optional_vars)}, one.context_expr


def _is_made(node: ast.expr, makers: str, made: set[str]) -> bool:
    """Whether an expression is what one of `makers` makes, or something of its own that this gives:
    `agent.with_config()` is.
    """
    if isinstance(node, ast.Await | ast.NamedExpr):
        return _is_made(node.value, makers, made)
    if isinstance(node, ast.BoolOp):
        return any(_is_made(one, makers, made) for one in node.values)
    if isinstance(node, ast.IfExp):
        return any(_is_made(one, makers, made) for one in (node.body, node.orelse))
    if isinstance(node, ast.Call):
        named = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        name = ast.unparse(named)
        if re.fullmatch(makers, name) or name.endswith(".compile"):
            return True
        return isinstance(named, ast.Attribute) and _is_made(named.value, makers, made)
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in made
