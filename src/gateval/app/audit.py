"""What `audit log` and `audit verify` do: read the log, here or at the remote, and check it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from gateval.adapters.git.repository import open_repository
from gateval.app.guard import LINE_LIMIT
from gateval.domain.audit import AuditLog, read_log
from gateval.domain.paths import show_path
from gateval.errors import EXIT_FAILED, EXIT_PASS, RecordsError, UsageError
from gateval.ports.storage import AUDIT_BRANCH, AUDIT_LOG
from gateval.render.audit_log import entry_line, log_line
from gateval.safe.sanitize import plain_line

_LOCAL = (f"refs/remotes/origin/{AUDIT_BRANCH}", f"refs/heads/{AUDIT_BRANCH}")
_HASH = re.compile(r"[0-9a-f]{64}")


def show_log(
    environ: Mapping[str, str],
    remote: str | None,
    ref: str | None,
    *,
    since: str,
    as_json: bool,
) -> int:
    """Print the entries from `since` (the beginning of an ISO time, or empty) on, oldest first."""
    content = _find(environ, remote, ref)
    if content is None:
        _note("Nothing has been recorded yet: there is no audit log.")
        return EXIT_PASS
    log = read_log(content)
    for entry in log.entries:
        if entry.at >= since:
            print(log_line(entry) if as_json else entry_line(entry))
    return _told_broken(log) if log.broken else EXIT_PASS


def verify_log(
    environ: Mapping[str, str], remote: str | None, ref: str | None, *, anchor: str | None
) -> int:
    """Check the chain, and that it holds the anchor."""
    wanted = anchor.lower() if anchor else None
    if wanted is not None and not _HASH.fullmatch(wanted):
        raise UsageError(
            "An anchor is a hash of 64 hexadecimal digits.",
            hint="It stands in the check run and in the comment of the pull request.",
        )
    content = _find(environ, remote, ref)
    if content is None and wanted is None:
        raise RecordsError("There is no audit log to verify: nothing has been recorded yet.")
    log = read_log(content or b"")
    if log.broken:
        return _told_broken(log)
    if wanted is None:
        print(_whole(log))
        _note("Without --anchor, entries that were cut off at the end do not show.")
        return EXIT_PASS
    found = log.anchored(wanted)
    if found is None:
        print(
            f"The audit log does not hold the entry with the hash {wanted}: it was cut off, "
            "written anew or deleted, or this is an older copy of it."
        )
        _note("`--remote origin` looks at the log as it is there now.")
        return EXIT_FAILED
    print(_whole(log))
    print(f"The anchor is entry {found.number}; {log.lines - found.number} came after it.")
    return EXIT_PASS


def _whole(log: AuditLog) -> str:
    noun = "entry" if log.lines == 1 else "entries"
    return f"The audit log is whole: {log.lines} {noun}, newest hash {log.newest}."


def _told_broken(log: AuditLog) -> int:
    """Say where the chain breaks; on stdout, for it is what was asked for."""
    print(plain_line(str(log.broken), LINE_LIMIT))
    print(f"{log.lines} lines in all; what stands from there on proves nothing.")
    return EXIT_FAILED


def _find(environ: Mapping[str, str], remote: str | None, named: str | None) -> bytes | None:
    """Return the log's bytes at a remote, on a ref of this clone, or where it is without either;
    None where there is none. Says on stderr where it comes from.
    """
    repository = open_repository(environ=environ, bare=True)
    if remote is None:
        for ref in (named,) if named else _LOCAL:
            if (stored := repository.stored(ref, AUDIT_LOG)) is not None:
                _note(f"Reading {show_path(ref)} of this clone, commit {stored.commit[:12]}.")
                return stored.content
        if named:
            raise RecordsError(f"There is no {show_path(named)} in this clone.")
    with repository.records(environ, remote=remote or "origin") as records:
        stored, where = records.read(AUDIT_LOG), records.where
    if stored is None:
        _note(f"{where} has no branch {AUDIT_BRANCH}.")
        return None
    _note(f"Reading {AUDIT_BRANCH} of {where}, commit {stored.commit[:12]}.")
    return stored.content


def _note(text: str) -> None:
    print(plain_line(text, LINE_LIMIT), file=sys.stderr)
