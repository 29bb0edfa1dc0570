"""Finished trials on disk, one JSON line each, so that a killed run loses only what was under way.

A line that lacks its line end was torn by a crash. It counts as never written: `read_trials`
leaves it out, and opening the log to go on cuts it off. A log may be of any size, as it is read
line by line and of each trial only the last word is kept.
"""

from __future__ import annotations

import fcntl
import os
from functools import partial
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from gateval.adapters.shown_paths import show_here
from gateval.domain.trials.trial import Trial, TrialKey
from gateval.errors import EvaluationError, StageFileError

LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of a line that is read back: far more than what is kept of a trial."""

_PIECE = 64 * 1024


class TrialLogFile:
    """Fulfils `ports.trial_log.TrialLog` with a file, created or continued. Use it as a context.

    Raises `EvaluationError` when the system refuses to open or write the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags, 0o644)
            fcntl.flock(self._file, fcntl.LOCK_SH)
            os.ftruncate(self._file, _whole_lines(self._file))
        except OSError as error:
            raise self._failed(error) from error

    def append(self, trial: Trial) -> None:
        """Store one trial; on return it is with the operating system."""
        line = trial.model_dump_json().encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file. No trial can be stored afterwards."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, error: OSError) -> EvaluationError:
        return EvaluationError(
            f"Cannot store the runs of fixtures in {show_here(self._path)}: {error.strerror}.",
            hint="See that the disk has space and the folder can be written.",
        )


def read_trials(path: Path, *, limit: int = LINE_LIMIT) -> tuple[Trial, ...]:
    """Return the trials of a log in the order they were stored; of two with one key, the later.

    Raises `StageFileError` when the file cannot be read, or holds a whole line that is no trial, or
    one of more than `limit` bytes.
    """
    shown = show_here(path)
    trials: dict[TrialKey, Trial] = {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, limit + 1), b""), start=1):
                if len(line) > limit:
                    raise StageFileError(f"{shown}:{number} has more than {limit:,} bytes.")
                if line.endswith(b"\n"):
                    trial = _trial(line, shown, number)
                    trials[trial.key] = trial
    except OSError as error:
        raise StageFileError(
            f"Cannot read the runs of fixtures in {shown}: {error.strerror}."
        ) from error
    return tuple(trials.values())


def _trial(line: bytes, shown: str, number: int) -> Trial:
    try:
        return Trial.model_validate_json(line)
    except ValidationError as error:
        raise StageFileError(
            f"{shown}:{number} is not the run of a fixture: "
            f"{error.errors(include_input=False)[0]['msg']}.",
            hint="The log was changed, or another version of Gateval wrote it.",
        ) from error


def _whole_lines(file: int) -> int:
    """Return how many bytes of the open file stand before the end of its last whole line."""
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - _PIECE)
        last = os.pread(file, end - start, start).rfind(b"\n")
        if last >= 0:
            return start + last + 1
        end = start
    return 0
