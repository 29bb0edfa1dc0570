"""Reads a file of records from a commit that is here already."""

from __future__ import annotations

from gateval.adapters.git.cat_file import asked
from gateval.adapters.git.process import GitProcess
from gateval.adapters.git.run import Git
from gateval.errors import RecordsError
from gateval.ports.records import RecordFile, Stored


def stored_at(git: Git, name: str, file: RecordFile) -> Stored | None:
    """Return what the commit called `name` in git's own folder holds, or None if there is none.

    Raises `RecordsError` for a file that is too large or no file; `RepositoryError` as git does.
    """
    questions = f"{name}^{{commit}}\n{name}:{file.path}\n".encode()
    with asked(git, "--batch", questions) as answers:
        commit, kind, size = _header(answers)
        if kind == "missing":
            return None
        answers.out.read(size + 1)
        _, kind, size = _header(answers)
        if kind == "missing":
            return Stored(None, commit)
        if kind != "blob":
            raise RecordsError(f"{file.path} in {file.ref} is a {kind}, not a file.")
        if size > file.limit:
            raise RecordsError(too_large(file))
        content = answers.out.read(size)
        if len(content) != size:
            raise answers.failure()
    return Stored(content, commit)


def _header(answers: GitProcess) -> tuple[str, str, int]:
    """Return id, kind and size of the object that comes next; the kind of none is `missing`."""
    header = answers.out.readline().decode()
    if not header:
        raise answers.failure()
    name, kind, *size = header.rsplit(" ", 1 if header.endswith(" missing\n") else 2)
    return name, kind.strip(), int(size[0]) if size else 0


def too_large(file: RecordFile) -> str:
    """Return the sentence for a file beyond its limit."""
    return f"{file.path} in {file.ref} is larger than {file.limit:,} bytes."
