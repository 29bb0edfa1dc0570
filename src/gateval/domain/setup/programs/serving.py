"""Programs that serve: which application they are, and what its route takes and answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gateval.domain.setup.programs.found import Invocation

QUESTION = "prompt|question|message|query|input|text|ask|task"
MESSAGES = "messages"
"""The key of a whole conversation, a list of roles and texts."""

_ASKED = (*QUESTION.split("|"), "content", "user_input", "user_message", MESSAGES)
_ANSWERED = ("answer", "reply", "response", "output", "text", "message", "result", "content")

_MAKERS = r"(?:FastAPI|Starlette|Flask|create_app|make_app|build_app|get_app)"
_APPLICATION = re.compile(rf"^(\w+)\s*(?::[^=\n]+)?=\s*(?:\w+\.)?{_MAKERS}\(", re.M)
_FACTORY = re.compile(r"^def (create_app|make_app|build_app|get_app)\(", re.M)
_PYTHON_ROUTE = re.compile(r"@\w+\.(?:post|route)\(\s*[\"'](/[^\"']*)[\"']")
_PREFIX = re.compile(
    r"(?:APIRouter|include_router|Blueprint|register_blueprint)\([^)]*prefix\s*=\s*[\"'](/[^\"']*)"
)
_PYTHON_MODEL = re.compile(r"class (\w+)\((?:\w+\.)?BaseModel\):(.*?)(?=^\S|\Z)", re.S | re.M)
_PYTHON_TAKES = re.compile(r"def \w+\(\s*\w+:\s*(\w+)")
_PYTHON_FIELD = re.compile(r"^\s+(\w+): (?:str|Optional\[str|Annotated\[str|[Ll]ist\[)", re.M)
_PYTHON_KEY = re.compile(r"\b(?:json|data|body|payload|get_json\([^)]*\))(?:\[|\.get\()[\"'](\w+)")
_NODE_ROUTE = re.compile(
    r"\.post\(\s*[\"'`](/[^\"'`]*)[\"'`]|\b(?:url|pathname)\s*===?\s*[\"'`](/[^\"'`]+)[\"'`]"
)
_NODE_LISTENS = re.compile(r"\.listen\(|\bserve\(\s*[{\w]")
_NODE_KEY = re.compile(r"\b(?:req|request)\.body\.(\w+)|(\w+):\s*z\.string\(")
_NODE_KEYS = re.compile(
    r"\{([\w\s,:]+)\}\s*(?::[^=]+)?=\s*(?:await\s+)?(?:req|request|c\.req|JSON)\.(?:body|json\(|parse\()"
)
_ANSWERS = re.compile(
    r"return\s*\{\s*[\"'](\w+)[\"']|(?:res|c|Response|reply)\.(?:json|send)\(\s*\{\s*[\"']?(\w+)"
    r"|jsonify\(\s*\{?\s*[\"']?(\w+)|return \w+\((\w+)="
)


def server_of(path: str, text: str, behind: str = "") -> str:
    """Return the application that a file serves, `name()` for one that a function makes.

    `behind` are the texts of the files that it imports, where its routes may be. It is "" for a
    file that serves nothing.
    """
    routes = f"{text}\n{behind}"
    if not path.endswith(".py"):
        return "app" if _NODE_LISTENS.search(text) and _NODE_ROUTE.search(routes) else ""
    if not _PYTHON_ROUTE.search(routes):
        return ""
    if found := _APPLICATION.search(text):
        return found[1]
    made = _FACTORY.search(text)
    return f"{made[1]}()" if made else ""


def is_flask(text: str) -> bool:
    """Whether the application is one of Flask."""
    return "Flask(" in text


def served(path: str, text: str) -> Invocation:
    """Return how a server is asked, from its text and that of the files it imports."""
    python = path.endswith(".py")
    routes = list((_PYTHON_ROUTE if python else _NODE_ROUTE).finditer(text))
    route = max(routes, key=lambda one: (_tells(_group(one)), -one.start()))
    prefix = _PREFIX.search(text) if python else None
    field = _likeliest(_asked(text, route.end(), python=python), _ASKED)
    return Invocation(
        route=(prefix[1].rstrip("/") if prefix else "") + _group(route),
        field=field or "message",
        answer=_likeliest(map(_group, _ANSWERS.finditer(text, route.end())), _ANSWERED),
        sure=bool(field),
    )


def _asked(text: str, start: int, *, python: bool) -> Iterator[str]:
    if python:
        taken = _PYTHON_TAKES.search(text, start)
        models = sorted(
            _PYTHON_MODEL.findall(text), key=lambda one: not taken or one[0] != taken[1]
        )
        for _, fields in models:
            yield from _PYTHON_FIELD.findall(fields)
        yield from _PYTHON_KEY.findall(text, start)
        return
    for keys in _NODE_KEYS.finditer(text, start):
        yield from (one.partition(":")[0].strip() for one in keys[1].split(","))
    yield from map(_group, _NODE_KEY.finditer(text))


def _tells(route: str) -> bool:
    return bool(re.search(r"chat|ask|agent|message|quer|complet|invoke|run|prompt|answer", route))


def _likeliest(names: Iterable[str], wanted: Sequence[str]) -> str:
    """Return the first name that is wanted, else the first of all; "" if there is none."""
    return min(filter(None, names), key=lambda one: one not in wanted, default="")


def _group(found: re.Match[str]) -> str:
    return next(one for one in found.groups() if one)
