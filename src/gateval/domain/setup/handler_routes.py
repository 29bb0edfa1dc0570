"""At which paths the functions of a Python server answer: FastAPI, Starlette and Flask. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Function,
    Modules,
    called_by,
    keyword_of,
    name_of,
    text_of,
)

Place = tuple[str, str]
"""A module and a name in it."""

_FASTAPI = frozenset({"FastAPI", "APIRouter"})
_FLASK = frozenset({"Flask", "Blueprint", "APIBlueprint", "OpenAPI", "Quart"})
_PLACE = re.compile(r"<(?:\w+(?:\([^)]*\))?:)?(\w+)>")
"""A part of a path as Flask writes it."""


class Routed(NamedTuple):
    """A function of the module at `path` with the decorator, `made`, that says where it answers,
    and to which method. `around` are the calls that make and mount what it stands in.
    """

    path: str
    route: str
    method: str
    function: Function
    made: ast.Call
    around: tuple[tuple[str, ast.Call], ...]
    flask: bool = False


class _Group(NamedTuple):
    """An application, router or blueprint: the path before its routes, the calls that say so."""

    prefix: str
    calls: tuple[tuple[str, ast.Call], ...]
    flask: bool


def routes_of(modules: Modules) -> Iterator[Routed]:
    """Yield the handlers of a server that answer a POST or a GET."""
    groups = _groups(modules)
    for path in modules.trees:
        for node in modules.nodes(path):
            for made in node.decorator_list if isinstance(node, Function) else ():
                if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
                    continue
                group = groups.get(modules.place(path, made.func.value))
                given = made.args[0] if made.args else keyword_of(made, "path")
                known = made.func.attr in {"post", "get", "route", "api_route"}
                if not known or group is None or not isinstance(node, Function):
                    continue
                route = modules.text(path, given)
                if not route and not (isinstance(given, ast.Constant) and given.value == ""):
                    continue
                route = _PLACE.sub(r"{\1}", group.prefix + route) or "/"
                for method in _methods(made):
                    yield Routed(path, route, method, node, made, group.calls, group.flask)
            if isinstance(node, ast.Call) and called_by(node) in _LISTED:
                yield from _listed(modules, path, node)
            if isinstance(node, Function) and (own := _of_mlflow(modules, path, node)):
                yield Routed(path, "/invocations", "post", node, own, ())


def _of_mlflow(modules: Modules, path: str, node: Function) -> ast.Call | None:
    """Return the decorator of a function that MLflow's server of agents asks."""
    calls = (one for one in node.decorator_list if isinstance(one, ast.Call))
    called = next((one for one in calls if called_by(one) == "invoke"), None)
    of_mlflow = (
        one.module == "mlflow.genai.agent_server"
        for one in modules.nodes(path)
        if isinstance(one, ast.ImportFrom)
    )
    return called if called and any(of_mlflow) else None


_LISTED = {"Route": "endpoint", "add_api_route": "endpoint", "add_url_rule": "view_func"}
"""Calls that name a path and its function, and the keyword of that function."""


def _listed(modules: Modules, path: str, made: ast.Call) -> Iterator[Routed]:
    """Yield the handler that a call names."""
    named = keyword_of(made, _LISTED[called_by(made)]) or (made.args[-1] if made.args[1:] else None)
    route = modules.text(path, made.args[0]) if made.args else ""
    flask = called_by(made) == "add_url_rule"
    given = modules.functions(path, named)[:1] if route and named is not None else []
    for where, function in given:
        for method in _methods(made):
            yield Routed(where, _PLACE.sub(r"{\1}", route), method, function, made, (), flask)


def _methods(made: ast.Call) -> list[str]:
    """Return the methods of a decorator that are known, a POST before a GET."""
    named = made.func.attr if isinstance(made.func, ast.Attribute) else ""
    if named in {"post", "get"}:
        return [named]
    listed = keyword_of(made, "methods")
    given = [text_of(one).lower() for one in getattr(listed, "elts", ())] or ["get"]
    return ["post"] if "post" in given else [one for one in given if one == "get"]


def _groups(modules: Modules) -> dict[Place, _Group]:
    """Return each application and router with the path before its routes."""
    own = {place: one for path in modules.trees for place, one in _made(modules, path)}
    around = {inner: outer for path in modules.trees for inner, outer in _mounted(modules, path)}
    found = {}
    for key, one in own.items():
        whole, calls, here = one.prefix, one.calls, key
        for _ in range(MOST_STEPS):
            if here not in around:
                break
            inside, (here, before, call) = own.get(here), around[here]
            if inside and inside.flask and before:  # which stands in for its own
                whole = whole.removeprefix(inside.prefix)
            outer = own.get(here, _Group("", (), one.flask))
            whole = outer.prefix + before + whole
            calls = (*calls, call, *outer.calls)
        found[key] = _Group(whole, calls, one.flask)
    return found


def _made(modules: Modules, path: str) -> Iterator[tuple[Place, _Group]]:
    """Yield the applications and routers that a module makes, with their own prefixes."""
    for node in modules.nodes(path):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            called = called_by(node.value)
            if called in _FASTAPI | _FLASK and name_of(target):
                flask = called in _FLASK
                prefix = keyword_of(node.value, "url_prefix" if flask else "prefix")
                text = modules.text(path, prefix).rstrip("/")
                yield (path, name_of(target)), _Group(text, ((path, node.value),), flask)


def _mounted(
    modules: Modules, path: str
) -> Iterator[tuple[Place, tuple[Place, str, tuple[str, ast.Call]]]]:
    """Yield what a module mounts, with what that stands in, the path there, and the call."""
    each: dict[str, list[ast.expr]] = {}
    for node in modules.nodes(path):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List):
            each[name_of(node.target)] = node.iter.elts
    for node in modules.nodes(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        outer = modules.place(path, node.func.value)
        if node.func.attr in {"include_router", "register_blueprint", "register_api"}:
            given = [*node.args[:1], keyword_of(node, "router"), keyword_of(node, "blueprint")]
            router = next(filter(None, given), None)
            prefix = keyword_of(node, "prefix") or keyword_of(node, "url_prefix")
            for one in each.get(name_of(router), [router] if router else []):
                text = modules.text(path, prefix).rstrip("/")
                yield modules.place(path, one), (outer, text, (path, node))
        elif node.func.attr == "mount" and len(node.args) > 1:
            text = modules.text(path, node.args[0]).rstrip("/")
            yield modules.place(path, node.args[1]), (outer, text, (path, node))
