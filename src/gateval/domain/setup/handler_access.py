"""What a Python server wants to be shown before it answers: a key in a header, or a login. Pure.

A key that the server compares with a variable of its own can be chosen, for the manifest sets both.
What a login gives cannot.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from gateval.domain.setup.handler_routes import Routed
from gateval.domain.setup.model_values import beside
from gateval.domain.setup.openapi import SOME_TEXT
from gateval.domain.setup.server_modules import (
    MOST_STEPS,
    Function,
    Modules,
    arguments,
    called_by,
    keyword_of,
    name_of,
    text_of,
)


class Access(NamedTuple):
    """The header that has to be there and its value; the variable that holds the same key, if it is
    known; and whether that is what a login gives.
    """

    header: str
    value: str = SOME_TEXT
    variable: str = ""
    login: bool = False


_KEY = re.compile(r"(?i)key|token|auth|secret")
_LOGIN = re.compile(
    r"(?i)\bjwt\b|decode_?(?:access_?)?token|verify_?(?:id_?|access_?|jwt_?)?token\b|oauth2"
    r"|validate_?(?:access_?)?token\b|get_?(?:current_?)?user|firebase|supabase|introspect|userinfo"
)
_LOOKS = re.compile(r"(?i)key|token|auth|secret|identi|verif|credential|user|principal")
"""How functions are called that look at what a request shows."""

_REFUSES = re.compile(r"\braise\b|\babort\(|\b401\b|\b403\b")
_FLASK_LOGIN = frozenset({"jwt_required", "login_required", "token_required", "auth_required"})
_SESSION = re.compile(
    r"(?:get_?)?current_(?:active_)?user|require_?(?:session|user|auth\w*|login)|verify_(?:jwt|session)",
    re.I,
)
"""How what a library gives is called that lets those in alone who have logged in."""

_HELD = re.compile(r"(?i)(?:^|_)(?:key|keys|token|tokens|secret|password)$")
_BEARER = frozenset({"HTTPBearer", "OAuth2PasswordBearer"})
_DEPENDS = frozenset({"Depends", "Security"})


def access_of(modules: Modules, routed: Routed) -> Access | None:
    """Return what a handler wants to be shown, a key before a login; None where nothing tells."""
    found = list(_demands(modules, routed))
    return min(found, key=lambda one: (one.login, not one.variable), default=None)


def _demands(modules: Modules, routed: Routed) -> Iterator[Access]:
    for node in routed.function.decorator_list:
        name = called_by(node) or name_of(node)
        if name in _FLASK_LOGIN and not modules.functions(routed.path, node):
            yield Access("Authorization", login=True)
    if _is_let_in(modules, routed):
        yield Access("Cookie", login=True)
    for begin in _guards(modules, routed):
        reached = list(_reached(modules, *begin))
        texts = [ast.unparse(one) for _, one in reached]
        login = any(map(_LOGIN.search, texts)) and any(map(_REFUSES.search, texts))
        headers = [one for path, function in reached for one in _headers(modules, path, function)]
        held = [one for path, function in reached for one in _held(modules, path, function)]
        for header in dict.fromkeys(headers):
            bearer = header.lower() == "authorization"
            value, variable = held[0] if held else (SOME_TEXT, "")
            shown = f"Bearer {value}" if bearer else value
            known = variable or (held and not bearer)
            yield Access(header, shown, variable, login=login and not known)


def _is_let_in(modules: Modules, routed: Routed) -> bool:
    """Whether what a library gives lets those in alone who have logged in."""
    given = (
        node
        for one, default in arguments(routed.function)
        for node in (default, *_beside(modules, routed.path, one.annotation))
        if isinstance(node, ast.Call) and called_by(node) in _DEPENDS and node.args
    )
    return any(
        _SESSION.fullmatch(name_of(one.args[0])) and not [*_meant(modules, routed.path, one)]
        for one in given
    )


def _guards(modules: Modules, routed: Routed) -> Iterator[tuple[str, Function]]:
    """Yield the functions that a request passes before the handler, and the handler."""
    yield routed.path, routed.function
    yield from _depended(modules, routed.path, routed.function)
    for made in routed.function.decorator_list:
        if made is not routed.made:
            yield from modules.functions(routed.path, made)
    for path, call in ((routed.path, routed.made), *routed.around):
        listed = keyword_of(call, "dependencies")
        for one in getattr(listed, "elts", ()):
            yield from _meant(modules, path, one)
    for path in modules.trees:
        for node in modules.nodes(path):
            if isinstance(node, ast.ClassDef) and "Middleware" in " ".join(
                map(name_of, node.bases)
            ):
                yield from ((path, one) for one in node.body if isinstance(one, Function))
            elif isinstance(node, Function):
                named = {called_by(one) or name_of(one) for one in node.decorator_list}
                if named & {"middleware", "before_request"}:
                    yield path, node


def _meant(modules: Modules, path: str, node: ast.expr | None) -> Iterator[tuple[str, Function]]:
    """Yield the function that `Depends(...)` names."""
    if isinstance(node, ast.Call) and called_by(node) in _DEPENDS and node.args:
        yield from modules.functions(path, node.args[0])


def _depended(modules: Modules, path: str, function: Function) -> Iterator[tuple[str, Function]]:
    for one, default in arguments(function):
        for node in (default, *_beside(modules, path, one.annotation)):
            yield from _meant(modules, path, node)


def _beside(modules: Modules, path: str, kind: ast.expr | None) -> list[ast.expr]:
    """Return what an `Annotated` has beside its type, which may have a name of its own."""
    if isinstance(kind, ast.Name | ast.Attribute):
        path, kind = modules.set_to(path, kind)
    return beside(kind)


def _reached(modules: Modules, path: str, function: Function) -> Iterator[tuple[str, Function]]:
    """Yield a function with those that it calls or depends on to look at what it was shown."""
    waiting, seen = [(path, function)], {id(function)}
    for step in range(MOST_STEPS * 2):
        if not waiting:
            return
        path, function = waiting.pop(0)
        yield path, function
        called = [one.func for one in ast.walk(function) if isinstance(one, ast.Call)]
        more = [*_depended(modules, path, function)] if step else []
        wanted = (one for one in called if _LOOKS.search(name_of(one)))
        more += [inner for one in wanted for inner in modules.functions(path, one)]
        for where, one in more:
            if id(one) not in seen:
                seen.add(id(one))
                waiting.append((where, one))


def _headers(modules: Modules, path: str, function: Function) -> Iterator[str]:
    """Yield the headers with keys that a function reads."""
    for one, default in arguments(function):
        given = [default, *_beside(modules, path, one.annotation)]
        for call in (node for node in given if isinstance(node, ast.Call)):
            if called_by(call) == "Header":
                name = text_of(keyword_of(call, "alias")) or one.arg.replace("_", "-")
                yield from [name] if _KEY.search(name) else []
            elif called_by(call) in _DEPENDS and call.args:
                yield from _scheme(modules, path, call.args[0])
    for node in ast.walk(function):
        read: ast.expr | None = None
        of: ast.expr | None = None
        if isinstance(node, ast.Call) and called_by(node) == "get" and node.args:
            read, of = node.args[0], getattr(node.func, "value", None)
        elif isinstance(node, ast.Subscript):
            read, of = node.slice, node.value
        if name_of(of) == "headers" and _KEY.search(name := modules.text(path, read)):
            yield name


def _scheme(modules: Modules, path: str, node: ast.expr) -> Iterator[str]:
    """Yield the header of a security scheme of FastAPI."""
    where, made = (path, node) if isinstance(node, ast.Call) else modules.set_to(path, node)
    if isinstance(made, ast.Call) and called_by(made) == "APIKeyHeader":
        yield modules.text(where, keyword_of(made, "name"))
    elif isinstance(made, ast.Call) and called_by(made) in _BEARER:
        yield "Authorization"


def _held(modules: Modules, path: str, function: Function) -> Iterator[tuple[str, str]]:
    """Yield the key that a function compares with and the variable that holds it: one that can be
    chosen, or one that its text has, which needs no variable.
    """
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and called_by(node) == "compare_digest":
            sides = node.args
        else:
            continue
        for side in sides:
            if variable := _variable(modules, path, side):
                yield SOME_TEXT, variable
            elif isinstance(side, ast.Name | ast.Attribute) and _HELD.search(name_of(side)):
                _, value = modules.set_to(path, side)
                if text := text_of(value):
                    yield text, ""


def _variable(modules: Modules, path: str, node: ast.expr, left: int = MOST_STEPS) -> str:
    """Return the variable of the environment that an expression reads, by its own name or as a
    setting; "" for none.
    """
    if left <= 0:
        return ""
    if isinstance(node, ast.Call):
        if called_by(node) in {"getenv", "get"} and (
            "getenv" in ast.unparse(node.func) or "environ" in ast.unparse(node.func)
        ):
            return modules.text(path, node.args[0]) if node.args else ""
        inner = [*node.args, getattr(node.func, "value", None)]
        return next(
            filter(None, (_variable(modules, path, one, left - 1) for one in inner if one)), ""
        )
    if isinstance(node, ast.Subscript) and "environ" in ast.unparse(node.value):
        return modules.text(path, node.slice)
    if isinstance(node, ast.BoolOp):
        return next(
            filter(None, (_variable(modules, path, one, left - 1) for one in node.values)), ""
        )
    if not isinstance(node, ast.Name | ast.Attribute) or not _HELD.search(name_of(node)):
        return ""
    if isinstance(node, ast.Attribute) and (setting := modules.setting(name_of(node))):
        return setting
    where, value = modules.set_to(path, node)
    return (
        _variable(modules, where, value, left - 1)
        if value is not None and value is not node
        else ""
    )
