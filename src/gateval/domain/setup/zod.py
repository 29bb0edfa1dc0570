"""What the zod schema of a Node handler demands of a body, read off its text. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gateval.domain.setup.invocation import ASKED, MESSAGES, PROMPT, Invocation
from gateval.domain.setup.openapi import SOME_TEXT, SOME_UUID

_SCHEMA = re.compile(r"\b(\w+)\s*(?::[^=\n]+)?=\s*z\.object\(\{")
_PARSED = re.compile(
    r"\b(\w+)\.(?:safeP|p)arse(?:Async)?\(|[zZ]Validator\(\s*[\"']json[\"']\s*,\s*(\w+)"
    r"|\b(?:body|schema)\s*:\s*(\w+)"
)
_FIELD = re.compile(r"\s*[\"']?(\w+)[\"']?\s*:\s*")
_GIVEN = re.compile(r"\.(?:optional|nullish|default|catch)\(")
_FIRST = re.compile(r"z\.(?:enum|literal)\(\s*\[?\s*[\"']([^\"'\n]*)[\"']")
_KINDS = {"number": 1, "boolean": False, "array": [], "record": {}, "null": None}
_INNER = re.compile(r"z\.object\(\{")
_MOST_DEEP = 4


def as_schema_demands(asked: Invocation, text: str) -> Invocation:
    """Return how a server is asked, with a body that its schema takes, where it has one that takes
    the question; `text` is that of the server and of the files that it imports.
    """
    schemas = {one[1]: _braced(text, one.end()) for one in _SCHEMA.finditer(text)}
    parsed = [next(filter(None, one.groups())) for one in _PARSED.finditer(text)]
    for name in (one for one in parsed if one in schemas):
        body = _fields(schemas[name], _MOST_DEEP)
        if field := next((one for one in ASKED if one in body), ""):
            told = "{{ messages }}" if field == MESSAGES or body[field] == [] else PROMPT
            body[field] = told
            return asked._replace(field=field, body=json.dumps(body), sure=True)
    return asked


def _braced(text: str, start: int) -> str:
    """Return what stands in the braces that are open at `start`."""
    deep = 1
    for place in range(start, min(len(text), start + 20_000)):
        deep += {"{": 1, "}": -1, "(": 1, ")": -1, "[": 1, "]": -1}.get(text[place], 0)
        if not deep:
            return text[start:place]
    return ""


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between the commas that are in no brackets."""
    deep, begun = 0, 0
    for place, letter in enumerate(text):
        deep += {"{": 1, "}": -1, "(": 1, ")": -1, "[": 1, "]": -1}.get(letter, 0)
        if letter == "," and not deep:
            yield text[begun:place]
            begun = place + 1
    yield text[begun:]


def _fields(text: str, left: int) -> dict[str, Any]:
    """Return the fields that have to be there, with values, and those that may take a question."""
    found: dict[str, Any] = {}
    for part in _parts(re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)):
        named = _FIELD.match(part)
        if named is None or not left:
            continue
        kind = part[named.end() :].strip()
        around = kind.replace(_braced(kind, kind.find("{") + 1), "") if "{" in kind else kind
        if not _GIVEN.search(around) or named[1] in ASKED:
            found[named[1]] = _value(kind, left)
    return found


def _value(kind: str, left: int) -> Any:
    if first := _FIRST.match(kind):
        return first[1]
    if inner := _INNER.match(kind):
        return _fields(_braced(kind, inner.end()), left - 1)
    if ".uuid(" in kind:
        return SOME_UUID
    name = re.match(r"z\.(?:coerce\.)?(\w+)", kind)
    return _KINDS.get(name[1], SOME_TEXT) if name else SOME_TEXT
