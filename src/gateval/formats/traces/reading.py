"""Reads records of runs, whatever of the known formats they are in."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.promotion.recorded import NoRun, Recorded
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.errors import UsageError
from gateval.formats.traces.chat import is_chat, read_chat
from gateval.formats.traces.otlp import is_otlp, read_otlp
from gateval.formats.traces.ours import is_ours, read_ours

LIMIT = 64 * 1024 * 1024
"""Bytes of a file of records."""

_HINT = (
    "Known are results and trials of Gateval, messages as chat APIs have them, OTLP in JSON, and "
    "one of these on each line."
)


def read_runs(data: bytes, name: str) -> Iterator[tuple[str, Recorded | NoRun]]:
    """Yield each run in `data` with where it stands, or why one there cannot be promoted.

    Raises `UsageError`, which calls the file `name`, when it is too large or of no known format.
    """
    if len(data) > LIMIT:
        raise UsageError(f"{name} has more than {LIMIT:,} bytes.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is no text in UTF-8.", hint=_HINT) from None
    try:
        value = read_json(text)
    except NotStrictJson as error:
        yield from _lines(text, name, error)
        return
    found = [*_runs(value)]
    if not found:
        raise UsageError(f"{name} holds no record of a run.", hint=_HINT)
    for number, run in enumerate(found, 1):
        yield (name if len(found) == 1 else f"{name}, no. {number}"), run


def _lines(text: str, name: str, whole: NotStrictJson) -> Iterator[tuple[str, Recorded | NoRun]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2:
        raise UsageError(f"{name} is no JSON: {whole}.", hint=_HINT)
    for number, line in lines:
        where = f"{name}:{number}"
        try:
            found = [*_runs(read_json(line))]
        except NotStrictJson as error:
            yield where, NoRun(f"it is no JSON: {error}")
            continue
        yield from ((where, run) for run in found or [NoRun("it is no record of a run")])


def _runs(value: JsonValue) -> Iterator[Recorded | NoRun]:
    if is_ours(value):
        yield from read_ours(value)
    elif is_otlp(value):
        yield from read_otlp(value)
    elif is_chat(value):
        try:
            yield read_chat(value)
        except NoRun as error:
            yield error
    elif isinstance(value, list) and all(
        is_ours(one) or is_otlp(one) or is_chat(one) for one in value
    ):
        for one in value:
            yield from _runs(one)
