"""A recorded call of a model as JSON that people read and compare. Does no I/O.

A call is found again by its request, and no two runs make the very same one: keys, ports, folders
and delimiters are drawn anew, identifiers and the day go on. So each such value is a placeholder
in the file, equal values the same one, and stands again in what is replayed. What names the asker
to the provider is left out. A text of several lines is a list of them, so that two recordings
differ in the line that differs; a long one is a file of its own.

Secrets are taken out of values before anything else: not even the digest of a request rests on one.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, NamedTuple

import re2
from pydantic import JsonValue

from gateval.domain.base import JsonObject, Value, canonical_json, digest
from gateval.ports.model_calls import ModelCallFault
from gateval.safe.redaction import Redactor
from gateval.wire.base import WireError, read_json, write_json

VERSION = 1

MOST_PLACEHOLDERS = 200
"""Values of one request that get a placeholder. Those beyond stand there as they are."""

_LEFT_OUT = ("metadata", "prompt_cache_key", "safety_identifier", "user")
"""Fields of a request that name the asker, or the machine, and change no answer."""

_DAYS = "(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?"
_CLOCK = r"[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"


class Placeholders:
    """The placeholders of one request: for values that were `drawn`, and for what rules find.

    `folders` are those of the run, which hold what candidates see.
    """

    def __init__(self, drawn: Sequence[str], folders: Sequence[str]) -> None:
        self._names = {
            value: f"{{gateval:drawn-{number}}}" for number, value in enumerate(drawn, 1) if value
        }
        self._rules = _rules(tuple(folders), _today())
        self._found: Counter[str] = Counter()

    def found_in(self, text: str) -> str:
        """Return JSON text with placeholders, new ones for what the rules find in it."""
        text = self.known_in(text)

        def name(match: Any) -> str:
            value, kind = match.group(), match.lastgroup
            if value not in self._names and len(self._names) < MOST_PLACEHOLDERS:
                self._found[kind] += 1
                self._names[value] = f"{{gateval:{kind}-{self._found[kind]}}}"
            return str(self._names.get(value, value))

        return str(self._rules.sub(name, text))

    def known_in(self, text: str) -> str:
        """Return JSON text with the placeholders of values that are known by now."""
        for value in sorted(self._names, key=len, reverse=True):
            text = text.replace(value, self._names[value])
        return text

    def filled(self, text: str) -> str:
        """Return JSON text with the values of this request in the place of placeholders."""
        if "{gateval:" in text:
            for value, name in self._names.items():
                text = text.replace(name, value)
        return text


def _today() -> tuple[str, ...]:
    return _days(int(time.time()) // _LOOKED_AT_SECONDS)


_LOOKED_AT_SECONDS = 60


@lru_cache(maxsize=1)
def _days(moment: int) -> tuple[str, ...]:
    """Return what day it is, in UTC and here."""
    now = datetime.fromtimestamp(moment * _LOOKED_AT_SECONDS, UTC)
    return tuple(sorted({f"{day:%Y-%m-%d %B %-d}" for day in (now, now.astimezone())}))


@lru_cache(maxsize=8)
def _rules(folders: tuple[str, ...], days: tuple[str, ...]) -> Any:
    iso, written = [], []
    for day in days:
        date, month, number = day.split()
        iso.append(date)
        written += [f"{month} 0?{number},? {date[:4]}", f"0?{number} {month} {date[:4]}"]
    within = "|".join(re.escape(one) for one in folders) or r"\b\B"
    kinds = {  # none asks for a border of a word: in JSON an `n` may end what stands before
        "folder": f"(?:{within})(?:/[a-z]+-[A-Za-z0-9_]{{8,64}})?",
        "key": "gateval-[A-Za-z0-9_-]{43}|/(?:mcp|redirect)/[A-Za-z0-9_-]{43}",
        "local": r"(?:127\.0\.0\.1|localhost|\[::1\]):\d{1,5}",
        "uuid": "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
        "time": f"(?:{'|'.join(iso)}){_CLOCK}",
        "today": f"{'|'.join(iso)}|{_DAYS}(?:{'|'.join(written)})",
    }
    return re2.compile("|".join(f"(?P<{kind}>{rule})" for kind, rule in kinds.items()))


class AskedCall(NamedTuple):
    """A request as a recording has it: `read` gives its `body`, with placeholders and without
    secrets. A replay compares digests, and seldom needs it.
    """

    wire: str
    model: str
    read: Callable[[], JsonValue]
    digest: str
    names: Placeholders

    @property
    def body(self) -> JsonValue:
        """The request."""
        return self.read()

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from other requests of the same asker."""
        return self.wire, self.model, self.digest


def asked_call(
    wire: str, model: str, body: bytes, names: Placeholders, redactor: Redactor
) -> AskedCall:
    """Return how a recording has this request to `model` (`provider/model-id`)."""
    value = without_secrets(_value(body), redactor)
    if isinstance(value, dict) and not value.keys().isdisjoint(_LEFT_OUT):
        value = {key: one for key, one in value.items() if key not in _LEFT_OUT}
    text = names.found_in(canonical_json(value))
    return AskedCall(wire, model, partial(json.loads, text), digest([wire, model, text]), names)


def _value(body: bytes) -> JsonValue:
    try:
        return read_json(body)
    except WireError:
        return body.decode("utf-8", "replace")


class _Json(Value):
    value: JsonValue


def without_secrets(value: JsonValue, redactor: Redactor) -> JsonValue:
    """Return JSON without secrets in any text of it, keys of objects too."""
    return redactor.value(_Json.model_construct(value=value)).value


class Answered(NamedTuple):
    """An answer in one piece; `body` is JSON, or text where the provider sent none."""

    status: int
    body: JsonValue


class Streamed(NamedTuple):
    """An answer as a stream: names and data of its events, and how it broke off, if it did."""

    events: tuple[tuple[str, JsonValue], ...]
    broken: str = ""


class Failed(NamedTuple):
    """No answer: why not, as a sentence."""

    fault: ModelCallFault
    message: str
    status: int | None = None


class Unheard(NamedTuple):
    """Nobody waited for the answer any longer."""


Outcome = Answered | Streamed | Failed | Unheard


class RecordedCall(NamedTuple):
    """A call as it is kept: of whom (`asks`, `address`), the how many-th equal one (`ordinal`)."""

    asks: str
    address: str
    ordinal: int
    asked: AskedCall
    outcome: Outcome


def write_call(call: RecordedCall, redactor: Redactor) -> tuple[str, dict[str, str]]:
    """Return a call as JSON, and the long texts that lie in files of their own, by SHA-256."""
    asked, outcome = call.asked, call.outcome
    said = json.loads(asked.names.known_in(json.dumps(_said(outcome), ensure_ascii=False)))
    long: dict[str, str] = {}
    told = {
        "version": VERSION,
        "asks": call.asks,
        "address": call.address,
        "wire": asked.wire,
        "model": asked.model,
        "digest": asked.digest,
        "ordinal": call.ordinal,
        "request": folded(asked.body, long),
        "answer": folded(without_secrets(said, redactor), long),
    }
    return json.dumps(told, indent=2, ensure_ascii=False), long


def _said(outcome: Outcome) -> JsonObject:
    if isinstance(outcome, Answered):
        return {"status": outcome.status, "body": outcome.body}
    if isinstance(outcome, Streamed):
        events: list[JsonValue] = [
            {"event": name, "data": data} if name else {"data": data}
            for name, data in outcome.events
        ]
        return {"events": events, **({"broken": outcome.broken} if outcome.broken else {})}
    if isinstance(outcome, Failed):
        return {
            "fault": outcome.fault.value,
            "message": outcome.message,
            "status": outcome.status,
        }
    return {"unheard": True}


_NONE_KNOWN = Placeholders((), ())


class BadRecording(ValueError):
    """A file holds no recorded calls; the text is a clause that follows the file's name."""


def read_calls(text: str, long: Mapping[str, str]) -> list[RecordedCall]:
    """Read a list of calls; `long` gives the texts of other files. Raises `BadRecording`."""

    def unmarked(value: dict[str, JsonValue]) -> JsonValue:
        return _unmarked(value, long)

    try:
        return [_call(one) for one in json.loads(text, object_hook=unmarked)]
    except BadRecording:
        raise
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise BadRecording(f"holds no recorded calls ({type(error).__name__})") from error


def _call(told: Any) -> RecordedCall:
    if told["version"] != VERSION:
        raise BadRecording("was written by another version of Gateval; record again")
    read, about = partial(told.__getitem__, "request"), (str(told["wire"]), str(told["model"]))
    asked = AskedCall(*about, read, str(told["digest"]), _NONE_KNOWN)
    of = (str(told["asks"]), str(told["address"]), int(told["ordinal"]))
    return RecordedCall(*of, asked, _outcome(told["answer"]))


def _outcome(said: Any) -> Outcome:
    if "events" in said:
        events = tuple((str(one.get("event", "")), one["data"]) for one in said["events"])
        return Streamed(events, str(said.get("broken", "")))
    if "fault" in said:
        return Failed(ModelCallFault(said["fault"]), str(said["message"]), said["status"])
    return Unheard() if "unheard" in said else Answered(int(said["status"]), said["body"])


def filled(value: JsonValue, names: Placeholders) -> bytes:
    """Return what a recording says as bytes, with the values of the request that asks now."""
    if isinstance(value, str):
        return names.filled(value).encode()
    text = write_json(value)
    return names.filled(text.decode()).encode() if b"{gateval:" in text else text


_LONG = 32 * 1024
"""Characters from which a text, an image above all, lies in a file of its own."""

_LINES, _FILE = "$lines", "$file"


def folded(value: JsonValue, long: dict[str, str]) -> JsonValue:
    """Return JSON that people can compare line by line; texts that are too long go into `long`."""
    if isinstance(value, str):
        if len(value) > _LONG:
            name = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
            long[name] = value
            return {_FILE: name}
        return {_LINES: list(value.split("\n"))} if "\n" in value else value
    if isinstance(value, list):
        return [folded(one, long) for one in value]
    if isinstance(value, dict):
        kept = {key: folded(one, long) for key, one in value.items()}
        return {f"${key}": one for key, one in kept.items()} if _is_marked(value) else kept
    return value


def _is_marked(value: Mapping[str, JsonValue]) -> bool:
    """Whether an object of somebody else's looks like a mark of ours."""
    return len(value) == 1 and next(iter(value)).startswith("$")


def _unmarked(value: dict[str, JsonValue], long: Mapping[str, str]) -> JsonValue:
    """Undo `folded` of one object, whose parts are undone. Raises `BadRecording` where a text is
    missing.
    """
    if not _is_marked(value):
        return value
    ((key, held),) = value.items()
    if key == _LINES and isinstance(held, list):
        return "\n".join(map(str, held))
    if key == _FILE:
        if str(held) not in long:
            raise BadRecording(f"names a text that is missing ({str(held)[:12]})")
        return long[str(held)]
    return {key[1:]: held}


def lines_of(body: JsonValue) -> Iterator[str]:
    """Yield the lines of a request as its file has them, for a comparison."""
    return iter(json.dumps(folded(body, {}), indent=1, ensure_ascii=False).splitlines())
