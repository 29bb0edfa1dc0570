"""The file of runs: a record a line, the newest last. It is bounded, and lines are strangers'.

A thousand runs of 200 fixtures take some 15 MB, which git packs to a tenth.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from pydantic import ValidationError

from gateval.domain.history.runs.record import RunRecord, record_line
from gateval.errors import RecordsError

RUNS_KEPT = 1_000
OF_PULL_REQUESTS = 300
"""Runs of pull requests that are kept: a busy day must not push out what the main branch did."""

BYTES_KEPT = 20_000_000
LINE_LIMIT = 1_000_000

_HEAD = re.compile(rb'\{"id":"([A-Za-z0-9._-]{1,100})","event":"([a-z_]{1,40})",')
_PULL = {b"pull_request", b"issue_comment", b"merge_group", b"workflow_run"}


def add_run(content: bytes, record: RunRecord) -> bytes:
    """Return the file with `record` as its newest line; the same content if it holds it already.

    A line with its id goes: somebody wrote it beforehand. So does what is no record, then the
    oldest runs of pull requests, then the oldest of all. Raises `RecordsError` for a record that is
    too large.
    """
    line = record_line(record)
    if len(line) > LINE_LIMIT:
        raise RecordsError(f"The run takes {len(line):,} bytes; {LINE_LIMIT:,} are allowed.")
    lines, own = lines_of(content), line.rstrip(b"\n")
    if own in lines:
        return content
    known = [(head, one) for one in lines if (head := _HEAD.match(one))]
    others = [(head[2], one) for head, one in known if head[1] != record.id.encode()]
    kept = [*others, (record.event.encode(), own)]
    return b"".join(one + b"\n" for one in _bounded(kept))


def newest_first(content: bytes, naming: Collection[str] = ()) -> Iterator[RunRecord]:
    """Yield the records, the newest first; of what cannot be read, nothing.

    With `naming`, lines in which none of these names stands are skipped, which is quick.
    """
    wanted = [f'"{name}"'.encode() for name in naming]
    for line in reversed(lines_of(content)):
        if wanted and not any(name in line for name in wanted):
            continue
        if (record := read_line(line)) is not None:
            yield record


def read_line(line: bytes) -> RunRecord | None:
    """Return the record of a line, None for what this version does not write."""
    if len(line) > LINE_LIMIT:
        return None
    try:
        return RunRecord.model_validate_json(line)
    except ValidationError:
        return None


def lines_of(content: bytes) -> list[bytes]:
    """Return the lines of the file, the oldest first."""
    return [line for line in content.split(b"\n") if line]


def _bounded(lines: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Return the newest lines that there is room for, in their order."""
    kept: list[bytes] = []
    pulls = size = 0
    for event, line in reversed(lines):
        if event in _PULL:
            pulls += 1
            if pulls > OF_PULL_REQUESTS:
                continue
        size += len(line) + 1
        if size > BYTES_KEPT or len(kept) == RUNS_KEPT:
            break
        kept.append(line)
    return kept[::-1]
