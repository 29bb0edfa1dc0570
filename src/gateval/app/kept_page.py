"""The page of a run that somebody looked at, kept beside its results: it is made once.

It counts for the very files that it was made of, and for the very program that made it. Whoever can
write there could as well write the results, so a page says no more than these; where a change could
have brought the folder, nothing is kept or believed (`Pages`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from tempfile import TemporaryFile

from pydantic import ValidationError

from gateval import __version__
from gateval.adapters.folders import write_whole
from gateval.adapters.store import INDEX, STORE_FOLDER
from gateval.app.run.finished import COMPARED_FILE
from gateval.app.run.views import RESULTS_FILE
from gateval.domain.base import Count, Digest, Value
from gateval.render.page.data import LIMIT

KEPT_FILE = "page.kept"
"""A line that says of what the page was made, and the page."""

_MOST = LIMIT + 64 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class _Stands(Value):
    """How the results file stands there. Nobody but the system sets when a file was `changed`."""

    size: Count
    modified: Count
    changed: Count


class _Made(Value):
    """Of what a page was made, by digests: the results file, what says where its trials are, and
    the program. `page` is its own.
    """

    stands: _Stands
    results: Digest
    store: Digest
    program: Digest
    page: Digest


def kept_page(run: Path) -> str | None:
    """Return the page of the results that are there; None where it has to be made."""
    try:
        file = os.open(run / KEPT_FILE, _READ)
        with os.fdopen(file, "rb") as opened:
            line, page = opened.readline(_MOST), opened.read(_MOST)
        made, stands = _Made.model_validate_json(line), _stands(run)
        same = (
            made.program == program_digest()
            and made.page == hashlib.sha256(page).hexdigest()
            and made.store == _store(run)
            and (made.stands == stands or made.results == _digest(run / RESULTS_FILE))
        )
    except (OSError, ValidationError):
        return None
    return page.decode("utf-8", "replace") if same else None


def keep_page(run: Path, make: Callable[[], Iterable[str]]) -> str:
    """Make the page of a run, and keep it where it can be kept: of results that nobody writes just
    then, in a folder that can be written to.
    """
    before = None
    with suppress(OSError):
        before = _stands(run), _digest(run / RESULTS_FILE), _store(run)
    content = made_page(make)
    with suppress(OSError):
        if before is not None and before[::2] == (_stands(run), _store(run)):
            stands, results, store = before
            made = _Made(
                stands=stands,
                results=results,
                store=store,
                program=program_digest(),
                page=hashlib.sha256(content).hexdigest(),
            )
            write_whole(run / KEPT_FILE, (made.model_dump_json().encode(), b"\n", content))
    return content.decode()


def made_page(make: Callable[[], Iterable[str]]) -> bytes:
    """Make a page piece by piece. Until it is whole it lies in a passing file, for what it is made
    of takes memory enough, and is gone by then.
    """
    with suppress(OSError), TemporaryFile() as file:
        file.writelines(piece.encode() for piece in make())
        file.seek(0)
        return file.read()
    return "".join(make()).encode()


def _stands(run: Path) -> _Stands:
    found = (run / RESULTS_FILE).stat()
    return _Stands(size=found.st_size, modified=found.st_mtime_ns, changed=found.st_ctime_ns)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _store(run: Path) -> str:
    """Return the digest of what stands beside the trials about them."""
    store = run / STORE_FOLDER
    there = (store / name for name in (INDEX, COMPARED_FILE))
    told = (_digest(one) if one.is_file() else "" for one in there)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


@cache
def program_digest() -> str:
    """Return the digest of the program that makes pages: all of it decides what they say."""
    found = hashlib.sha256(__version__.encode())
    for one in _sources(files("gateval")):
        found.update(hashlib.sha256(one.read_bytes()).digest())
    return found.hexdigest()


def _sources(folder: Traversable) -> list[Traversable]:
    found: list[Traversable] = []
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            found += _sources(one) if one.name != "__pycache__" else []
        else:
            found.append(one)
    return found
