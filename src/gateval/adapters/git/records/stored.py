"""Reads a file of records from a commit that is here already."""

from __future__ import annotations

from gateval.adapters.git.run import Git
from gateval.errors import RecordsError
from gateval.ports.records import RecordFile, Stored


def stored_at(git: Git, name: str, file: RecordFile) -> Stored | None:
    """Return what the commit called `name` in git's own folder holds, or None if there is none.

    Raises `RecordsError` for a file that is too large or no file; `RepositoryError` as git does.
    """
    questions = f"{name}^{{commit}}\n{name}:{file.path}\n".encode()
    answers = git.run("cat-file", "--batch-check", stdin=questions).out.decode().splitlines()
    commit, *_ = answers[0].split()
    if answers[0].endswith(" missing"):
        return None
    if answers[1].endswith(" missing"):
        return Stored(None, commit)
    blob, kind, size = answers[1].split()
    if kind != "blob":
        raise RecordsError(f"{file.path} in {file.ref} is a {kind}, not a file.")
    if int(size) > file.limit:
        raise RecordsError(too_large(file))
    return Stored(git.run("cat-file", "blob", blob).out, commit)


def too_large(file: RecordFile) -> str:
    """Return the sentence for a file beyond its limit."""
    return f"{file.path} in {file.ref} is larger than {file.limit:,} bytes."
