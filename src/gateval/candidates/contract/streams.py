"""Tells a streamed reply from one whole answer, by its Content-Type and by its body. Pure.

A stream holds more than the answer: the question, calls and their results, in pieces between which
no text is found. Read as one text it would pass an assertion for what was asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from gateval.candidates.contract.claims import ClaimError

_EVENTS = "server-sent events (`data: …`)"
_PARTS = 'a data stream of the AI SDK (`0:"…"`)'
_LINES = "one JSON value per line"
_JOINED = "JSON objects one behind the other"
_BINARY = "an event stream of AWS"

_DECLARED: Mapping[str, str] = {
    "text/event-stream": _EVENTS,
    "application/x-ndjson": _LINES,
    "application/ndjson": _LINES,
    "application/jsonl": _LINES,
    "application/x-jsonl": _LINES,
    "application/jsonlines": _LINES,
    "application/x-jsonlines": _LINES,
    "application/json-lines": _LINES,
    "application/x-json-stream": _LINES,
    "application/stream+json": _LINES,
    "application/json-seq": _LINES,
    "text/jsonl": _LINES,
    "text/x-ndjson": _LINES,
    "application/vnd.amazon.eventstream": _BINARY,
}
_LOOKED_AT = 50
"""Lines of a body by which it is told."""

_SURE = 3
"""So many lines of the AI SDK one after the other are no accident."""

_BREAK = re.compile(r"\r\n|\r|\n")
_FIELD = re.compile(r"(?:data|event|id|retry)(?::|$)|:")
_PART = re.compile(r"([0-9a-k]):(.*)")
_TEXTS, _LISTS = frozenset("03g"), frozenset("28")

_SERVER = (
    "Have the server answer in one piece (often `stream: false` in `request.body`, or another path)"
    ', as text, as `{"output": "…"}`, or as JSON with `response.output`'
)
_PROGRAM = (
    'Have the program print its last message alone, as text, as `{"output": "…"}`, or in one JSON '
    "document with `response.output`"
)
_AGENTV = (
    'Have the program give its last message alone, as text or as `{"text": "…"}`, or all of them '
    "in one JSON document with `output_messages`"
)
ADVICE: Mapping[str, str] = {"server": _SERVER, "program": _PROGRAM, "agentv": _AGENTV}
"""What to do about a stream, by who answers."""


def refuse_stream(body: bytes, of: str, kind: str = "") -> None:
    """Raise `ClaimError` for a body that is a stream, or is declared as one by its media type.

    `of` names the advice.
    """
    lines = _BREAK.split(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    written = [one for line in lines if (one := line.lstrip("\x1e").strip())]
    found = _DECLARED.get(kind, "")
    if found == _LINES and len(written) < 2:  # one document, whatever it is declared as
        return
    found = found or _told_by(lines, written)
    if found:
        raise ClaimError(
            f"it is a stream, {found}, and streams are not read: they hold more than the answer. "
            f"{ADVICE[of]}"
        )


def _told_by(lines: Sequence[str], written: Sequence[str]) -> str:
    """Return what kind of stream these lines are; empty for none."""
    first = written[:_LOOKED_AT]
    if not first:
        return ""
    if _FIELD.match(first[0]):
        return _EVENTS if _are_events(lines, first) else ""
    if all(map(_is_part, first[:_SURE])):
        return _PARTS
    if len(first) > 1 and all(isinstance(_json(one), dict) for one in first[:2]):
        return _LINES
    return _JOINED if _are_joined("\n".join(written)) else ""


def _are_joined(text: str) -> bool:
    """Whether a text begins with two JSON objects, which nothing but blanks divides."""
    at = 0
    for _ in range(2):
        if not text.startswith("{", at):
            return False
        try:
            _, end = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            return False
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return True


def _are_events(lines: Sequence[str], first: Sequence[str]) -> bool:
    """Whether lines that begin like server-sent events are some: a single `data: 5` is a text."""
    data = [line[5:].strip() for line in first if line.startswith("data:")]
    if any(one == "[DONE]" or isinstance(_json(one), dict | list) for one in data):
        return True
    ended = len(data) > 1 or "" in lines[1:-1]
    return bool(data) and ended and all(map(_FIELD.match, first))


def _is_part(line: str) -> bool:
    """Whether a line is one of the AI SDK: what stands behind each code is of one sort, so that
    `5:30` is none.
    """
    match = _PART.fullmatch(line)
    if match is None:
        return False
    code, value = match[1], _json(match[2])
    wanted = str if code in _TEXTS else list if code in _LISTS else dict
    return isinstance(value, wanted)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
