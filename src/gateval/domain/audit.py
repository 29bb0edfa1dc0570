"""The audit log: entries, and the chain of JSON lines in which each names the hash of the one
before. Pure.

An `AuditEvent` is what happened; an `AuditEntry` is its line in the log, chained to the line
before it. Whatever people or the forge wrote is cut to a size, never refused.

Everybody who may push can add an entry to the log. One counts as a duplicate only if all that
matters in it is what the gate would write now, its time included; so a forged one hides nothing.

A line is its entry's canonical form (`ascii_json`), so a change of any byte shows. `hash` is the
SHA-256 of that form without `hash` itself; `previous`, the hash of the line before, is part of it.
A chain alone cannot show that its end was cut off or that all of it was written anew: for that a
hash that was published elsewhere, an *anchor*, has to be in it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from pydantic import JsonValue, ValidationError

from gateval.domain.base import (
    Count,
    Digest,
    JsonObject,
    MaybeDigest,
    MaybeSha,
    Positive,
    Sha,
    UtcTime,
    Value,
    ascii_json,
    digest,
)
from gateval.domain.label_decision import LabelUse
from gateval.domain.results.comparison import Comparison
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.text import LongText, ShortText, first_of
from gateval.domain.verdicts import EvalsVerdict
from gateval.errors import RecordsError

EVALS_LISTED = 50
"""Evals, and lowered bars, named in one entry; the totals count all."""


class AuditKind(StrEnum):
    """What happened."""

    BYPASS_GRANTED = "bypass-granted"
    BYPASS_DENIED = "bypass-denied"
    BYPASS_ENDED = "bypass-ended"
    """A push ended it: the label was for another head."""
    BYPASS_WITHDRAWN = "bypass-withdrawn"
    """Somebody took off a label that counted."""
    BYPASS_CARRIED = "bypass-carried"
    """A grant for a pull request's head also counts for its group in the merge queue."""
    BAR_ACCEPTED = "bar-accepted"
    NOT_EVALUATED = "not-evaluated"
    VERDICT = "verdict"


class FailingEval(Value):
    """An Eval that keeps the gate from passing, with the fixtures that do."""

    eval: ShortText
    failed: Count
    unmeasured: Count
    fixtures: Count


class AuditRun(Value):
    """The run that wrote the entry. `triggering_actor` differs from `actor` in a re-run."""

    id: ShortText = ""
    attempt: Positive = 1
    url: ShortText = ""
    event: ShortText = ""
    actor: ShortText = ""
    triggering_actor: ShortText = ""


class AuditEvent(Value):
    """Something to be recorded.

    `reason` is what the person said, `why` what the gate says (for a denial: which rule).
    `verdict` is that of the evals, never that of a bypass; `policy` the digest of the base tip's
    policy; `bars` the lowered bars as shown to people. `failing` and `bars` hold the first
    `EVALS_LISTED`; `failing_total` and `bars_total` count all. Where `stored_by` names a run, these
    are of the verdict that it stored, and nothing was measured for this event.
    """

    version: Literal["audit.v1"] = "audit.v1"
    kind: AuditKind
    at: UtcTime
    repository: ShortText
    pull_request: Positive | None = None
    head: Sha
    base: MaybeSha = ""
    label: LabelUse | None = None
    reason: LongText = ""
    why: LongText = ""
    verdict: EvalsVerdict | None = None
    failing: Annotated[tuple[FailingEval, ...], first_of(EVALS_LISTED)] = ()
    failing_total: Count = 0
    bars: Annotated[tuple[ShortText, ...], first_of(EVALS_LISTED)] = ()
    bars_total: Count = 0
    policy: MaybeDigest = ""
    run: AuditRun = AuditRun()
    stored_by: AuditRun | None = None


class AuditEntry(AuditEvent):
    """One line of the log.

    `number` counts from 1; `id` is the digest of the event, so that no entry can pass for another;
    `previous` is the `hash` of the entry before, 64 zeros for the first; `hash` is the
    SHA-256 of the canonical form of everything else.
    """

    id: Digest
    number: Positive
    previous: Digest
    hash: Digest


def failing_evals(comparison: Comparison) -> tuple[FailingEval, ...]:
    """Return every Eval of which not all fixtures passed on head, in the plan's order.

    A fixture failed when one of its repetitions did; it is unmeasured when none did, but one has
    no outcome.
    """
    found = []
    for compared in comparison.evals:
        scores = compared.head.fixtures
        failed = sum(score.failed > 0 for score in scores)
        unmeasured = sum(not score.failed and not score.measured for score in scores)
        if failed or unmeasured:
            found.append(
                FailingEval(
                    eval=compared.eval, failed=failed, unmeasured=unmeasured, fixtures=len(scores)
                )
            )
    return tuple(found)


CLOCKS_APART = timedelta(minutes=5)
"""How far the clocks of runners and of the forge may be apart."""

_SAME = ("kind", "repository", "pull_request", "head", "base", "label", "reason", "why")
_LETS_THROUGH = {AuditKind.BYPASS_GRANTED, AuditKind.BYPASS_CARRIED, AuditKind.BAR_ACCEPTED}
_THROUGH = ("verdict", "failing", "failing_total", "bars", "bars_total", "policy")


def tells(entry: AuditEntry, event: AuditEvent) -> bool:
    """Whether an entry says all of an event: the very same one, or the same use of a label.

    For a label: who, for which head, why; its time lies between the label's and now. Where it
    counts, also what it lets through: another run, or another gate, may have found more.
    """
    names: tuple[str, ...] = _SAME + _THROUGH if event.kind in _LETS_THROUGH else _SAME
    if event.label is None or not event.label.applied_at:
        names = tuple(AuditEvent.model_fields)
    elif not _in_time(event.label.applied_at, entry.at, event.at):
        return False
    return all(getattr(entry, name) == getattr(event, name) for name in names)


def _in_time(applied: str, noted: str, now: str) -> bool:
    """Whether an entry was made after the label was put on and before now, give or take."""
    try:
        first, at, last = (datetime.fromisoformat(one) for one in (applied, noted, now))
        return first - CLOCKS_APART <= at <= last + CLOCKS_APART
    except (ValueError, TypeError):  # no time, or one without a zone
        return False


GENESIS = "0" * 64
"""What the first entry has for `previous`."""

REPAIR = (
    "Find out who wrote there: compare with the branch's own history and with the hashes in check "
    "runs and comments. See the guide on the audit log."
)


class ChainBreak(NamedTuple):
    """Where the chain breaks first: the line, counted from 1, and why, as a sentence."""

    line: int
    why: str

    def __str__(self) -> str:
        return f"The audit log is broken at entry {self.line}: {self.why}."


class AuditLog(NamedTuple):
    """The entries up to the first break; what follows one proves nothing. `lines` counts all."""

    entries: tuple[AuditEntry, ...]
    lines: int
    broken: ChainBreak | None = None

    @property
    def newest(self) -> str:
        """The hash that the next entry builds on; the one to publish as an anchor."""
        return self.entries[-1].hash if self.entries else GENESIS

    def anchored(self, anchor: str) -> AuditEntry | None:
        """The entry with this hash, or None: then the log was cut, rewritten or is another one."""
        return next((entry for entry in self.entries if entry.hash == anchor), None)


def read_log(content: bytes) -> AuditLog:
    """Read a log and check its chain. An empty one is whole.

    Raises `RecordsError` for an entry that is chained correctly, but of another version.
    """
    lines = content.split(b"\n")
    rest = lines.pop()
    entries: list[AuditEntry] = []
    total = len(lines) + bool(rest)
    for position, line in enumerate(lines, start=1):
        found = _entry(line, position, entries[-1].hash if entries else GENESIS)
        if not isinstance(found, AuditEntry):
            return AuditLog(tuple(entries), total, ChainBreak(position, found))
        entries.append(found)
    if rest:
        why = "the line does not end, so a part of it is missing or something was added"
        return AuditLog(tuple(entries), total, ChainBreak(total, why))
    return AuditLog(tuple(entries), total)


def append(content: bytes, event: AuditEvent) -> tuple[bytes, AuditEntry]:
    """Return the log with `event` as its last entry, and that entry.

    An event that is in it already, from an attempt whose answer got lost or from another run that
    heard of the same label, changes nothing. Raises `RecordsError` for a broken log: what is added
    to one could not be trusted.
    """
    log = read_log(content)
    if log.broken:
        raise RecordsError(str(log.broken), hint=REPAIR)
    for entry in log.entries:
        if tells(entry, event):
            return content, entry
    body = event.model_dump(mode="json")
    body["id"] = digest(body)
    body |= {"number": log.lines + 1, "previous": log.newest}
    body["hash"] = hash_of(body)
    return content + ascii_json(body).encode() + b"\n", AuditEntry.model_validate(body)


def hash_of(entry: JsonObject) -> str:
    """Return the hash of an entry, given with or without `hash`."""
    body: JsonObject = {name: value for name, value in entry.items() if name != "hash"}
    return hashlib.sha256(ascii_json(body).encode()).hexdigest()


def id_of(entry: JsonObject) -> str:
    """Return the id of an entry: the digest of what happened, without what the log adds to it."""
    return digest({name: value for name, value in entry.items() if name not in _ADDED})


_ADDED = {"id", "number", "previous", "hash"}


def _entry(line: bytes, number: int, previous: str) -> AuditEntry | str:
    """Return the entry in a line, or why it is none that could stand there."""
    try:
        content = read_json(line.decode("ascii"))
    except UnicodeDecodeError:
        return "the line holds bytes that no entry has"
    except NotStrictJson as error:
        return f"the line is no JSON: {error}"
    if not isinstance(content, dict) or ascii_json(content).encode() != line:
        return "the line is not an entry in its canonical form"
    if content.get("hash") != hash_of(content):
        return "the entry was changed: its content does not give its hash"
    if content.get("number") != number:
        found = _short(content.get("number"))
        return f"it says that it is entry {found}, so entries were removed, added or moved"
    if content.get("previous") != previous:
        return "it was not written after the entry before it, so one of the two was replaced"
    return _typed(content, number)


def _typed(content: JsonObject, number: int) -> AuditEntry | str:
    if content.get("version") != "audit.v1":
        raise RecordsError(
            f"Entry {number} of the audit log has the version {_short(content.get('version'))}; "
            "this Gateval reads audit.v1.",
            hint="Use the version of Gateval that wrote it, or a newer one.",
        )
    try:
        entry = AuditEntry.model_validate(content)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        return f"it is chained correctly, but {where or 'something'} in it is not as Gateval writes"
    written = entry.model_dump(mode="json")
    if written != content | {name: written[name] for name in _LATER - content.keys()}:
        return "it is chained correctly, but lacks fields that Gateval writes"
    if entry.id != id_of(content):
        return "it is chained correctly, but its id is not the digest of its content"
    return entry


_LATER = {"stored_by"}
"""Fields that entries of the first Gateval lack."""


def _short(value: JsonValue) -> str:
    return ascii_json(value)[:40]
