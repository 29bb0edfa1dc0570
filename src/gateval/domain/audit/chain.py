"""The audit log as bytes: JSON lines, each chained by hash to the line before it. Pure.

A line is its entry's canonical form (`ascii_json`), so a change of any byte shows. `hash` is the
SHA-256 of that form without `hash` itself; `previous`, the hash of the line before, is part of it.
A chain alone cannot show that its end was cut off or that all of it was written anew: for that a
hash that was published elsewhere, an *anchor*, has to be in it.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from gateval.domain.audit.duplicate import tells
from gateval.domain.audit.entry import AuditEntry, AuditEvent
from gateval.domain.base import JsonObject, ascii_json, digest
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.errors import RecordsError

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
    if (why := _misplaced(content, number, previous)) is not None:
        return why
    return _typed(content, number)


def _misplaced(content: JsonObject, number: int, previous: str) -> str | None:
    if content.get("number") != number:
        found = _short(content.get("number"))
        return f"it says that it is entry {found}, so entries were removed, added or moved"
    if content.get("previous") != previous:
        return "it was not written after the entry before it, so one of the two was replaced"
    return None


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
