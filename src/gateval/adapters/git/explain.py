"""What git prints when it fails, in sentences for a person."""

from __future__ import annotations

import re

from gateval.domain.repository.paths import show_path
from gateval.errors import NoRepository, RepositoryError

LINE_LIMIT = 300
"""Characters kept of a line that git printed."""

FULL_HISTORY = (
    "The clone is shallow, so history is missing. Fetch all of it: `fetch-depth: 0` for "
    "actions/checkout, `git fetch --unshallow` elsewhere."
)
FULL_CONTENT = (
    "If this is a partial clone, clone it without `--filter` (actions/checkout: remove `filter`), "
    "for Gateval fetches nothing by itself. Otherwise `git fsck` may tell what is broken."
)
WRITABLE = (
    "A working tree with changes is measured by way of objects in .git. Make that writable, or "
    "name a commit: --head HEAD, with `gateval run` --rev HEAD."
)

_OWNERSHIP = re.compile(
    r"detected dubious ownership in repository at '(?P<path>.+?)'$"
    r"|unsafe repository \('(?P<older>.+?)' is owned by",
    re.MULTILINE,
)
_FORMAT = re.compile(r"repository extension|git repo version|extensions\.|repositoryformatversion")
_MISSING = re.compile(
    r"promisor remote|lazy fetch|transport '.*' not allowed|missing (?:blob|tree|commit)"
    r"|unable to read (?:sha1 file|tree|[0-9a-f]{40})|could not fetch [0-9a-f]{40}"
)


def explain(command: str, stderr: bytes) -> RepositoryError:
    """Return the error for a failed `git command` that printed `stderr` (in the C locale)."""
    text = stderr.decode("utf-8", "surrogateescape")
    if owned := _OWNERSHIP.search(text):
        return _dubious_ownership(owned["path"] or owned["older"])
    if "not a git repository" in text:
        return NoRepository(
            "This folder is not in a git repository.",
            hint="Start Gateval inside the repository, or make one with `git init`.",
        )
    if _FORMAT.search(text):
        return RepositoryError(
            f"The installed git cannot read this repository's format: {summary(text)}.",
            hint="Install a newer git.",
        )
    if _MISSING.search(text):
        return RepositoryError(
            f"An object is missing from the repository: {summary(text)}.", hint=FULL_CONTENT
        )
    failed = f"`git {command}` failed: {summary(text)}."
    if command == "add" and "insufficient permission" in text:
        return RepositoryError(failed, hint=WRITABLE)
    return RepositoryError(failed)


def summary(text: str) -> str:
    """Return the line that tells most, on one line of harmless characters, without its full stop.

    File names from a pull request can be in it, hence the quoting and the limit.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    line = (telling or lines or ["it gave no reason"])[0]
    line = line.removeprefix("fatal: ").removeprefix("error: ").rstrip(".")
    return show_path(line[:LINE_LIMIT])


def _dubious_ownership(path: str) -> RepositoryError:
    shown = show_path(path)
    return RepositoryError(
        f"git does not trust the repository at {shown}, because it belongs to another user.",
        hint=f"If you trust it: git config --global --add safe.directory {shown}",
    )
