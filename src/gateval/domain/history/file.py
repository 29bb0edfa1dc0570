"""The file of earlier verdicts: a record a line, the newest last, the oldest go first.

Anybody who may push can write it, so a line is read as a stranger's.
"""

from __future__ import annotations

from pydantic import JsonValue, ValidationError

from gateval.domain.base import ascii_json
from gateval.domain.history.record import HistoryRecord
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.errors import RecordsError

RECORDS_KEPT = 500
BYTES_KEPT = 1024 * 1024

RECORD_LIMIT = 128 * 1024
"""Bytes of one record."""


def add_record(content: bytes, record: HistoryRecord) -> bytes:
    """Return the file with `record` as its newest line, in place of any for the same check on head.

    A run that began before the one whose record is there changes nothing. Lines that are no records
    go; those of other versions stay, for the version that wrote them.
    """
    if any(_newer(_parse(old), record) for old in content.split(b"\n")):
        return content
    line = ascii_json(record.model_dump(mode="json")).encode() + b"\n"
    if len(line) > RECORD_LIMIT:
        raise RecordsError(f"The verdict takes {len(line):,} bytes; {RECORD_LIMIT:,} are allowed.")
    mine = {(None, ""), (record.head, record.check)}
    kept = [old + b"\n" for old in content.split(b"\n") if _key(old) not in mine]
    lines = [*kept, line][-RECORDS_KEPT:]
    size = sum(map(len, lines))
    while size > BYTES_KEPT:
        size -= len(lines.pop(0))
    return b"".join(lines)


def find_record(content: bytes, head: str, check: str = "") -> HistoryRecord | None:
    """Return the newest record for a check on a head commit, or None if there is none.

    Raises `RecordsError` when it is of another version or not as Gateval writes it.
    """
    for line in reversed(content.split(b"\n")):
        if _key(line) == (head, check):
            return _record(line)
    return None


def all_records(content: bytes) -> tuple[HistoryRecord, ...]:
    """Return every record that is as this Gateval writes it, the oldest first."""
    found = []
    for line in content.split(b"\n"):
        try:
            found.append(_record(line))
        except RecordsError:
            continue
    return tuple(found)


def _record(line: bytes) -> HistoryRecord:
    content = _parse(line)
    version = content.get("version") if isinstance(content, dict) else None
    if version != "history.v2":
        raise RecordsError(
            f"The stored verdict has the version {ascii_json(version)[:40]}; "
            "this Gateval reads history.v2."
        )
    try:
        return HistoryRecord.model_validate(content)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise RecordsError(f"The stored verdict is not as Gateval writes it: {where}.") from None


def _key(line: bytes) -> tuple[str | None, str]:
    """Return head commit and check that a line is about; (None, "") if it is no record."""
    content = _parse(line)
    if not isinstance(content, dict):
        return None, ""
    head, check = content.get("head"), content.get("check", "")
    known = isinstance(head, str) and head
    return (str(head), check if isinstance(check, str) else "") if known else (None, "")


def _newer(content: JsonValue, record: HistoryRecord) -> bool:
    """Whether a line is about the same, and of a run that began later."""
    if not isinstance(content, dict):
        return False
    same = (content.get("head"), content.get("check", "")) == (record.head, record.check)
    started = content.get("started_at", "")
    return same and isinstance(started, str) and started > record.started_at


def _parse(line: bytes) -> JsonValue:
    if not line or len(line) > RECORD_LIMIT:
        return None
    try:
        return read_json(line.decode("ascii"))
    except (UnicodeDecodeError, NotStrictJson):
        return None
