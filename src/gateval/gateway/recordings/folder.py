"""The folder of a recording: a folder for each fixture, in it a file for each trial, a list of its
calls in the order in which they began, so that side by side they make the same file each time.

    EVAL/FIXTURE/head-1.json
    calibrations/NAME.json
    long/SHA-256.txt

What is replayed may come from anywhere, so no link is followed, sizes are limited, and of a file
only what its address and digest say counts.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import stat
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path

from gateval.domain.trials.model_call import Caller
from gateval.gateway.recordings.recorded_call import (
    AskedCall,
    BadRecording,
    Outcome,
    RecordedCall,
    lines_of,
    read_calls,
    write_call,
)
from gateval.safe.redaction import Redactor

LONG = "long"

FILE_LIMIT = 256 * 1024 * 1024
"""Bytes of one file."""

MOST_BYTES = 2 * 1024 * 1024 * 1024
"""Bytes of a recording, whatever agents say."""

_WRITE = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ODD = re.compile(r"[^a-zA-Z0-9._-]")


def folder_name(name: str) -> str:
    """Return a name for a folder, from one that may be long or odd."""
    plain = _ODD.sub("_", name)[:100].strip(".") or "_"
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


class RecordingWriter:
    """Writes calls below `path`, of `most` bytes together."""

    def __init__(self, path: Path, redactor: Redactor, *, most: int = MOST_BYTES) -> None:
        self._path = path
        self._redactor = redactor
        self._sizes: dict[Path, int] = {}
        self._lengths: dict[Path, list[tuple[int, int]]] = {}
        self._left = most
        self._left_out = 0
        self._ended = ""

    @property
    def fault(self) -> str:
        """Why the recording is not complete, as sentences; empty if it is."""
        secret = f"{self._left_out} calls are not recorded: a secret stood in them all the same."
        return " ".join(filter(None, (self._ended, secret if self._left_out else "")))

    def write(self, caller: Caller, call: RecordedCall, began: int) -> None:
        """Write a call, the how many-th that began, unless a secret stands in it all the same."""
        if self._ended:
            return
        text, long = write_call(call, self._redactor)
        texts = [text, *long.values()]
        if any(self._redactor.text(one) != one for one in texts):
            self._left_out += 1
            return
        self._left -= sum(map(len, texts))
        if self._left < 0:
            self._ended = "The recording is not complete: it has grown too large."
            return
        try:
            self._insert(_file_of(self._path, caller), began, _encoded(text))
            for name, content in long.items():
                (self._path / LONG).mkdir(exist_ok=True)
                with suppress(FileExistsError):
                    _write(self._path / LONG / f"{name}.txt", _encoded(content), new=os.O_EXCL)
        except OSError as error:
            self._ended = (
                f"The recording is not complete: {error.strerror}. Make room, or run without "
                "--record."
            )

    def _insert(self, file: Path, began: int, call: bytes) -> None:
        """Put it into the list in a file, before those that began later. The file is whole JSON
        before and after.
        """
        known, size = self._lengths.setdefault(file, []), self._sizes.get(file, 0)
        later = sum(1 for _ in takewhile(lambda one: one[0] > began, reversed(known)))
        place = len(known) - later
        if size:
            at = size - len(_END) - sum(len(_NEXT) + length for _, length in known[place:])
            rest = _bytes_from(file, at) if later else _NEXT + _END
            call_and_rest = rest[: len(_NEXT)] + call + (_NEXT if later else b"")
            self._sizes[file] = _write(file, call_and_rest + rest[len(_NEXT) :], at)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._sizes[file] = _write(file, _BEGIN + call + _END)
        known.insert(place, (began, len(call)))


_BEGIN, _NEXT, _END = b"[\n", b",\n", b"\n]\n"
"""What stands before the first call, before each other one, and behind the last."""


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _bytes_from(file: Path, at: int) -> bytes:
    with open(file, "rb", opener=lambda path, _: os.open(path, _READ)) as stream:
        stream.seek(at)
        return stream.read()


def _file_of(root: Path, caller: Caller) -> Path:
    *folders, name = map(folder_name, caller.place)
    return root.joinpath(*folders, f"{name}.json")


def _write(file: Path, content: bytes, at: int = 0, *, new: int = 0) -> int:
    """Write at a place of a file, and return its size then."""
    descriptor = os.open(file, _WRITE | new, 0o644)
    try:
        left, end = memoryview(content), at
        while left:
            done = os.pwrite(descriptor, left, end)
            left, end = left[done:], end + done
    finally:
        os.close(descriptor)
    return at + len(content)


class _LongTexts(Mapping[str, str]):
    """The long texts of a recording, by their SHA-256; each is held against its name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> str:
        if re.fullmatch(r"[0-9a-f]{64}", name) is None:
            raise KeyError(name)
        try:
            text = _read(self._folder / f"{name}.txt")
        except (OSError, BadRecording):
            raise KeyError(name)
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != name:
            raise KeyError(name)
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _read(file: Path) -> str:
    with os.fdopen(os.open(file, _READ), "rb") as stream:
        facts = os.fstat(stream.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise BadRecording("is no plain file")
        content = stream.read(min(facts.st_size, FILE_LIMIT) + 1)  # so much memory is taken
    if len(content) > FILE_LIMIT:
        raise BadRecording("is larger than what is read of one trial")
    try:
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise BadRecording("is no UTF-8")


class RecordingReader:
    """Finds calls below `path`. What a trial recorded is read when its first call asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._long = _LongTexts(path / LONG)
        self._known: dict[tuple[str, ...], dict[tuple[str, ...], deque[Outcome]]] = {}

    def take(self, caller: Caller, asked: AskedCall) -> Outcome | None:
        """Return what came of the next equal call of this caller; None if it made none. Raises
        `BadRecording`.
        """
        known = self._known.get(caller.place)
        if known is None:
            known = self._known[caller.place] = {}
            for one in sorted(self._calls(caller), key=lambda one: one.ordinal):
                key = (one.asks, one.address, *one.asked.key)
                known.setdefault(key, deque()).append(one.outcome)
        left = known.get((caller.asks, caller.address, *asked.key))
        return left.popleft() if left else None

    def missing(self, caller: Caller, asked: AskedCall) -> str:
        """Say why there is no such call, with what differs from the one most like it."""
        shown = "/".join(map(folder_name, caller.place))
        try:
            calls = [one for one in self._calls(caller) if one.asks == caller.asks]
        except BadRecording as bad:
            return f"{bad}."
        if not calls:
            return f"Nothing of {caller.asks} is recorded in {shown}."
        if all(one.address != caller.address for one in calls):
            return (
                f"What is recorded in {shown} is of another version: the Agent, the fixture, the "
                "judge or the policy has changed since."
            )
        same = [one for one in calls if one.asked.key[:2] == asked.key[:2]]
        if not same:
            others = ", ".join(sorted({one.asked.model for one in calls}))
            return f"{asked.model} was not asked in {shown} when it was recorded; {others} was."
        if equal := sum(one.asked.digest == asked.digest for one in same):
            return f"This very request was made {equal} times in {shown} when it was recorded."
        return f"No request recorded in {shown} is this one. {_difference(asked, same)}"

    def _calls(self, caller: Caller) -> list[RecordedCall]:
        file = _file_of(self.path, caller)
        try:
            return read_calls(_read(file), self._long)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadRecording(f"{file} cannot be read: {error.strerror}")
        except BadRecording as bad:
            raise BadRecording(f"{file} {bad}")


_LINES_COMPARED = 2_000
_LINES_SHOWN = 12
_WIDTH = 160


def _difference(asked: AskedCall, others: Sequence[RecordedCall]) -> str:
    """Return what differs from the request that is most like this one, as the lines of a diff."""
    now = list(islice(lines_of(asked.body), _LINES_COMPARED))

    def likeness(other: RecordedCall) -> float:
        lines = list(islice(lines_of(other.asked.body), _LINES_COMPARED))
        return difflib.SequenceMatcher(None, lines, now, autojunk=False).quick_ratio()

    nearest = max(others, key=likeness)
    before = list(islice(lines_of(nearest.asked.body), _LINES_COMPARED))
    changes = [
        f"{line[0]} {line[1:].strip()[:_WIDTH]}"
        for line in difflib.unified_diff(before, now, lineterm="", n=0)
        if line[0] in "+-" and not line.startswith(("+++", "---"))
    ]
    more = len(changes) - _LINES_SHOWN
    shown = [*changes[:_LINES_SHOWN], *([f"and {more} more lines"] if more > 0 else [])]
    return "From the nearest one it differs in:\n" + "\n".join(shown)
