"""What a run notes beside its trials until it ends, for a run that goes on from it if it is killed.

No verdict rests on it: which trials were begun, so that it can be told how many are paid again,
what models were offered, which no trial repeats, and what calls may have taken. A run that ends by
itself says all of it in its results.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter, ValidationError

from gateval.adapters.folders import write_whole
from gateval.adapters.machine import show_here
from gateval.adapters.store import STORE_FOLDER
from gateval.domain.results.offers import SharedOffer
from gateval.domain.trials.model_call import BatchBook
from gateval.domain.trials.trial import Side, TrialKey
from gateval.errors import EvaluationError, UsageError

BATCHES_FILE = "batches.json"
BEGUN_FILE = "begun.jsonl"
OFFERS_FILE = "offers.jsonl"
"""The last line of each Agent and side stands."""

SPENT_FILE = "spent.txt"
"""The last line stands."""

_MOST_BYTES = 64 * 1024 * 1024

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@cache
def _key() -> TypeAdapter[TrialKey]:
    return TypeAdapter(TrialKey)


class RunNotes:
    """Notes in the folder of a run, gone when it ends; what it spent stays where an error ended it,
    whose results do not say it. Use it as a context.

    Where nothing can be written, nothing is noted. But where it is `counted` what the run spends,
    it does not begin then, raising `EvaluationError`, and what it spends is unknown from there on.
    """

    def __init__(self, run: Path, *, counted: bool = False) -> None:
        self._run = run
        self._counted = counted
        self._files: dict[str, int] = {}
        self._spent = read_spent(run)

    def begin(self, key: TrialKey) -> None:
        """Note that a trial is under way."""
        self._append(BEGUN_FILE, _key().dump_json(key) + b"\n")

    def offered(self, offers: Iterable[SharedOffer]) -> None:
        """Note what models are offered."""
        lines = b"".join(one.model_dump_json().encode() + b"\n" for one in offers)
        if lines:
            self._append(OFFERS_FILE, lines)

    def spent(self, usd: float) -> None:
        """Note what calls may have taken until now, beside those of a killed run in this folder."""
        line = f"{self._spent + usd:.6f}\n".encode()
        if not self._append(SPENT_FILE, line) and SPENT_FILE in self._files:
            os.ftruncate(self._files[SPENT_FILE], 0)  # which a full disk lets happen

    def _append(self, name: str, lines: bytes) -> bool:
        with suppress(OSError):
            if name not in self._files:
                self._files[name] = os.open(self._run / name, _APPEND, 0o644)
            return os.write(self._files[name], lines) == len(lines)
        return False

    def __enter__(self) -> Self:
        if self._counted and not self._append(SPENT_FILE, f"{self._spent:.6f}\n".encode()):
            raise EvaluationError(
                f"{show_here(self._run / SPENT_FILE)} could not be written, so what the run spends "
                "would not be counted.",
                hint="Free some disk space, or give `results` another folder.",
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for name, file in self._files.items():
            os.close(file)
            if kind is None or name != SPENT_FILE:
                with suppress(OSError):
                    (self._run / name).unlink()


class RunBatches:
    """Fulfils `BatchNotes` with a file in the folder of a run, which stays: a run that goes on asks
    nothing of it twice. It begins with what an earlier one has sent.
    """

    def __init__(self, run: Path, earlier: BatchBook) -> None:
        self._file = run / BATCHES_FILE
        self.keep(earlier if earlier.draw else earlier.replace(draw=secrets.token_hex(16)))

    @property
    def shown(self) -> str:
        """Fulfil `BatchNotes.shown`."""
        return str(self._file)

    def read(self) -> BatchBook:
        """Fulfil `BatchNotes.read`."""
        return self._book

    def keep(self, book: BatchBook) -> None:
        """Fulfil `BatchNotes.keep`."""
        self._book = book
        write_whole(self._file, book.model_dump_json().encode())

    def lost(self, questions: int) -> None:
        """Fulfil `BatchNotes.lost`: the trials say so."""


def _content(file: Path) -> bytes:
    """Return what a plain file of sane size holds. Raises `OSError`."""
    with os.fdopen(os.open(file, _READ), "rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


def read_batches(run: Path) -> BatchBook:
    """Return what a run has sent in batches; nothing where it sent none. Raises `UsageError` where
    that cannot be read, for it was paid.
    """
    try:
        return BatchBook.model_validate_json(_content(run / BATCHES_FILE))
    except FileNotFoundError:
        return BatchBook()
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{show_here(run / BATCHES_FILE)} could not be read, so it is not known what was sent.",
            hint="Look at the provider's list of batches, then remove it.",
        ) from error


def read_begun(run: Path) -> frozenset[TrialKey]:
    """Return which trials were begun by the killed run that left this folder; none is known of
    others. What cannot be read is left out.
    """
    with suppress(OSError, ValidationError):
        lines = _content(run / BEGUN_FILE).splitlines()
        return frozenset(map(_key().validate_json, lines))
    return frozenset()


def read_spent(run: Path) -> float:
    """Return what calls of the killed run that left this folder may have taken, in US dollars; 0
    for others. Raises `UsageError` where that cannot be read.
    """
    try:
        lines = _content(run / SPENT_FILE).decode("ascii").splitlines()
    except FileNotFoundError:
        return 0.0
    except (OSError, ValueError):
        lines = []
    if not lines or re.fullmatch(r"\d{1,9}\.\d{6}", lines[-1]) is None:
        raise UsageError(
            f"{show_here(run / SPENT_FILE)} could not be read, so it is not known what was spent.",
            hint="Name a new or empty folder.",
        )
    return float(lines[-1])


def known_spent(run: Path) -> float | None:
    """Return what `read_spent` does of a run that an error ended; None where that is not known."""
    if (run / STORE_FOLDER).exists() and not (run / SPENT_FILE).exists():
        return None  # taken away: it stands there before the first trial
    with suppress(UsageError):
        return read_spent(run)
    return None


def read_offers(run: Path) -> tuple[SharedOffer, ...]:
    """Return what models were offered in the killed run that left this folder; nothing is known of
    others. What cannot be read is left out.
    """
    found = dict[tuple[str, Side], SharedOffer]()
    with suppress(OSError, ValidationError):
        for line in _content(run / OFFERS_FILE).splitlines():
            one = SharedOffer.model_validate_json(line)
            found[one.agent, one.side] = one
    return tuple(found.values())
