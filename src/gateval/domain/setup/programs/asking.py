"""How a program takes its question, read off its text: by arguments, by standard input, by HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateval.domain.setup.programs.found import Invocation
from gateval.domain.setup.programs.golang import go_invocation, is_go_entry

PROMPT = "{{ prompt }}"

_QUESTION = "prompt|question|message|query|input|text|ask|task"
_PYTHON_SERVER = re.compile(r"^(\w+)\s*(?::[^=\n]+)?=\s*(?:FastAPI|Starlette|Flask)\(", re.M)
_PYTHON_ROUTE = re.compile(r"@\w+\.(?:post|route)\(\s*[\"'](/[^\"']*)[\"']")
_PYTHON_FIELDS = (
    re.compile(r"class \w+\(BaseModel\):\s*(?:\"\"\".*?\"\"\"\s*)?(\w+): str", re.S),
    re.compile(r"request\.(?:json|get_json\([^)]*\))(?:\[|\.get\()[\"'](\w+)"),
)
_NODE_ROUTE = re.compile(r"\.post\(\s*[\"'`](/[^\"'`]*)[\"'`]")
_NODE_FIELDS = (
    re.compile(r"\breq(?:uest)?\.body\.(\w+)"),
    re.compile(r"\{\s*(\w+)[^{}]*\}\s*=\s*(?:await\s+)?(?:req|request|c\.req)\.(?:body|json\(\))"),
)
_ANSWERS = (
    re.compile(r"return\s*\{\s*[\"'](\w+)[\"']"),
    re.compile(r"(?:res|c|Response)\.json\(\s*\{\s*[\"']?(\w+)"),
    re.compile(r"jsonify\(\s*\{?\s*[\"']?(\w+)"),
)
_OPTION = re.compile(
    rf"(?:add_argument|@click\.option|typer\.Option)\([^)]*?[\"'](--(?:{_QUESTION}))[\"']"
)
_POSITIONAL = re.compile(
    r"add_argument\(\s*[\"'][a-z]\w*[\"']|@click\.argument\(|typer\.Argument\(|sys\.argv\[1"
    r"|process\.argv\[2\]|process\.argv\.slice\(2\)"
)
_READS_JSON = re.compile(r"json\.loads?\(\s*(?:sys\.)?stdin|JSON\.parse\(")
_READS = re.compile(r"\binput\(|sys\.stdin|readFileSync\(\s*0|process\.stdin|/dev/stdin")
_JSON_KEY = re.compile(rf"[\[.][\"']?({_QUESTION})\b")
_ENTRY = re.compile(r"^if __name__ == [\"']__main__[\"']", re.M)


def is_entry(path: str, text: str) -> bool:
    """Whether a file is started, and not imported: it says so, serves, or reads its arguments."""
    if path.endswith(".go"):
        return is_go_entry(text)
    if path.endswith(".py"):
        return bool(_ENTRY.search(text) or server_of(path, text))
    return bool(_POSITIONAL.search(text) or _READS.search(text) or server_of(path, text))


def server_of(path: str, text: str) -> str:
    """Return the name of the application that a file serves, "" if it serves nothing."""
    if path.endswith(".py"):
        found = _PYTHON_SERVER.search(text)
        return found[1] if found and _PYTHON_ROUTE.search(text) else ""
    return "app" if _NODE_ROUTE.search(text) and ".listen(" in text else ""


def is_flask(text: str) -> bool:
    """Whether the application is one of Flask."""
    return "Flask(" in text


def invocation_of(path: str, text: str) -> Invocation:
    """Return how the program is asked, as far as its text tells."""
    if path.endswith(".go"):
        return go_invocation(text, PROMPT)
    if server_of(path, text):
        return _server(path, text)
    option = _OPTION.search(text)
    if option:
        return Invocation(words=(option[1], PROMPT), stdin="")
    if _POSITIONAL.search(text):
        return Invocation(words=(PROMPT,), stdin="")
    if _READS_JSON.search(text):
        key = _JSON_KEY.search(text)
        name = key[1] if key else "prompt"
        asked = f'{{"{name}": {{{{ prompt | tojson }}}}}}'
        return Invocation(stdin=None if name == "prompt" else asked, sure=key is not None)
    return Invocation(stdin=PROMPT, sure=bool(_READS.search(text)))


def _server(path: str, text: str) -> Invocation:
    python = path.endswith(".py")
    route = (_PYTHON_ROUTE if python else _NODE_ROUTE).search(text)
    field = next(_first(_PYTHON_FIELDS if python else _NODE_FIELDS, text), "")
    return Invocation(
        route=route[1] if route else "/",
        field=field or "message",
        answer=next(_first(_ANSWERS, text), ""),
        sure=bool(field),
    )


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> Iterator[str]:
    yield from (found[1] for pattern in patterns if (found := pattern.search(text)))
