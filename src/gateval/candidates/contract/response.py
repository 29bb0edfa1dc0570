"""How an answer is read from what an agent gives back. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.candidates.bounded import json_path
from gateval.candidates.contract.claims import ClaimError
from gateval.candidates.contract.options import Response
from gateval.candidates.contract.question import ProgramAnswer, claimed_answer, read_answer
from gateval.candidates.contract.streams import refuse_stream
from gateval.domain.text.quoting import quote
from gateval.domain.text.strict_json import NotStrictJson, read_json

ELSEWHERE = (
    "Anything else belongs on standard error. What it prints before it is asked is no answer: say "
    "how many lines that are in `runtime.greeting`."
)
"""What to do about lines of a program with `conversation: process` that are no answers."""


def only_line(printed: bytes, greeting: int) -> bytes:
    """Return the one line that a program printed which would go on, after those of its greeting:
    which of several is its answer nobody can say. Raises `ClaimError`.
    """
    lines = [line for line in printed.split(b"\n")[greeting:] if line.strip()]
    if len(lines) > 1:
        raise ClaimError(
            "it printed more than one line, and with `conversation: process` each answer is one. "
            f"{ELSEWHERE.removesuffix('.')}"
        )
    if greeting and not lines:
        raise ClaimError(
            f"it printed nothing after the {greeting} lines that `runtime.greeting` leaves out"
        )
    return b"".join(lines)


def read_response(paths: Response, body: bytes, kind: str | None = None) -> ProgramAnswer:
    """Read what an agent gave back. Raises `ClaimError`.

    `kind` is the media type that a server declares, empty for none; None for a program.
    """
    refuse_stream(body, "program" if kind is None else "server", kind or "")
    if paths.output is None:
        return read_answer(body)
    described = "" if kind is None else f", {_declared(kind)}"
    document = _document(body, described)
    try:
        output = json_path.find(paths.output, document)
    except json_path.PathError as error:
        raise ClaimError(f"{error}: {_shown(body)}")
    trace, usage = _claim(paths.trace, document), _claim(paths.usage, document)
    return claimed_answer(output, f"the value at `{paths.output}`", trace, usage)


def _declared(kind: str) -> str:
    return f"declared as {quote(kind)}" if kind else "without a Content-Type"


def _document(body: bytes, described: str) -> JsonValue:
    try:
        return read_json(body.decode("utf-8", "replace").removeprefix("\ufeff"))
    except NotStrictJson as error:
        raise ClaimError(f"it is no JSON ({error}){described}: {_shown(body)}")


def _claim(path: str | None, document: JsonValue) -> JsonValue:
    """Return what the agent claims there; None if it claims nothing."""
    if path is None:
        return None
    try:
        return json_path.find(path, document)
    except json_path.Nothing:
        return None
    except json_path.PathError as error:
        raise ClaimError(str(error))


def _shown(body: bytes) -> str:
    return quote(body[:200].decode("utf-8", "replace"))
