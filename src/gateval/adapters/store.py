"""Where the trials of a run lie: segments that only grow, and an index of those that are closed.

A segment is a gzip file of JSON lines, so that `zcat` shows it. A trial is a line; its steps, and
texts that are long, are lines before it, each once in a segment by its SHA-256. In the place of
such a part the trial has a string that begins with NUL and says what stands there and in which
member of the file. Members are short, so that one trial is read without the others; a segment needs
no other, so that it can be uploaded, read and joined alone.

Each trial is flushed as it ends. What a killed run tore off at the end counts as never written, and
a later run begins a segment of its own. The index says the SHA-256 of each closed segment, where
the trials of a fixture are in it, and nothing that the segments do not say: without it they are
looked through.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

from pydantic import ValidationError

from gateval.adapters.machine import show_here
from gateval.domain.base import Count, Digest, Value
from gateval.domain.trials.kept import KeptSteps, Sharing, steps_json, tells_errors
from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Trial
from gateval.errors import EvaluationError, StageFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

STORE_FOLDER = "trials"
INDEX = "index.jsonl"

LONG_TEXT = 256
"""Characters from which a text is stored once."""

MEMBER_BYTES = 256 * 1024
"""After so many bytes of lines a member ends: what is read, at least, for one trial."""

SEGMENT_BYTES = 16 * 1024 * 1024
"""After so many bytes of lines a segment is closed."""

LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of a trial that is read back: far more than what is kept of one."""

_GZIP = 31
_LEVEL = 1
_PIECE = 64 * 1024
_SEGMENT = re.compile(r"[0-9]{5}\.jsonl\.gz")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_STRING = rb'(?<=[\[{,:])"(?:\\u0000|(?:[^"\\]|\\.){%d})(?:[^"\\]++|\\.)*+"'
_STORED_ONCE = re.compile(_STRING % LONG_TEXT)
"""A string of JSON that is long, or could be taken for what stands in the place of one. A quote
that is escaped stands behind a backslash, never behind what comes before a string."""

_BLOB = b'{"sha256":"%s","json":%s}'
_BLOB_START = b'{"sha256":"'
_BLOB_JSON = b'","json":'
_STANDS_FOR = re.compile(rb'"\\u0000([0-9a-f]{64}):([0-9]{1,12})(?::([0-9]{1,9}))?"')
_MARK = b'"\\u0000'
_TRACE, _STEPS = b'"trace":{', b'"steps":'


def _is_inside(found: re.Match[bytes]) -> bool:
    """Whether the quote is one in a string: escaped."""
    return found.string[found.start() - 1 : found.start()] == b"\\"


class Segment(Value):
    """What the index says of a closed segment. `fixtures` holds Eval, name, and the members with
    trials of that fixture, by where they begin.
    """

    segment: str
    bytes: Count
    sha256: Digest
    trials: Count
    fixtures: tuple[tuple[str, str, tuple[Count, ...]], ...] = ()


class TrialStore:
    """Fulfils `ports.storage.TrialLog` with a folder, made or continued. Use it as a context.

    As long as it is open, the folder is locked (`is_being_written`). Raises `EvaluationError` when
    the system refuses to open or write. After so many bytes of lines a member or a segment ends.
    """

    def __init__(
        self, folder: Path, member_bytes: int = MEMBER_BYTES, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        self._folder = folder
        self._sizes = (member_bytes, segment_bytes)
        self._reader = StoreReader(folder)
        self._sharing = Sharing()
        self._writing: _Writing | None = None
        try:
            with suppress(FileExistsError):
                folder.mkdir()
            self._lock = os.open(folder, os.O_DIRECTORY | _READ)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            numbers = [int(one[:5]) for one in segment_names(folder)]
        except OSError as error:
            raise self._failed(error) from error
        self._number = max(numbers, default=0)

    def append(self, trial: Trial) -> Trial:
        """Store one trial; on return it is with the operating system.

        Returns the same trial, of which the steps are left in the store. Of one whose steps lay
        elsewhere, they are found in the store from now on.
        """
        return self._stored(trial, flushes=True)

    def keep(self, trials: Iterable[Trial]) -> tuple[Trial, ...]:
        """Store trials that others keep, too; all are with the operating system on return."""
        kept = tuple(self._stored(one, flushes=False) for one in trials)
        try:
            if self._writing is not None:
                self._writing.flush()
        except OSError as error:
            self._writing = None
            raise self._failed(error) from error
        return kept

    def _stored(self, trial: Trial, *, flushes: bool) -> Trial:
        try:
            if self._writing is None:
                self._number += 1
                self._writing = _Writing(self._lock, self._number, *self._sizes)
            steps = self._writing.add(trial, flushes=flushes)
            if self._writing.is_full:
                self.rotate()
        except OSError as error:
            self._writing = None  # torn, so the index says nothing of it
            raise self._failed(error) from error
        if steps is None or trial.trace is None:
            return self._sharing.kept(trial, None)
        of_trial = trial.trace.steps
        known = of_trial.errors if isinstance(of_trial, KeptSteps) else tells_errors(of_trial)
        stored = _StoredSteps(self._reader, self._number, *steps, errors=known)
        if isinstance(of_trial, KeptSteps):
            of_trial.stored = stored
            return trial
        return self._sharing.kept(trial, stored)

    def rotate(self) -> None:
        """Close the segment under way, so that it can be uploaded."""
        if self._writing is None:
            return
        try:
            line = self._writing.close().model_dump_json().encode() + b"\n"
            self._writing = None
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            index = os.open(INDEX, flags, 0o644, dir_fd=self._lock)
            with os.fdopen(index, "wb") as file:
                file.write(line)
        except OSError as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the last segment. No trial can be stored afterwards."""
        try:
            self.rotate()
        finally:
            os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _failed(self, error: OSError) -> EvaluationError:
        return EvaluationError(
            f"Cannot store the runs of fixtures in {show_here(self._folder)}: {error.strerror}.",
            hint="See that the disk has space and the folder can be written.",
        )


def _may_be_long(step: Step) -> bool:
    return len(step.text) >= LONG_TEXT or step.arguments is not None


class _Writing:
    """The segment that is being written. Raises `OSError`."""

    def __init__(self, folder: int, number: int, member_bytes: int, segment_bytes: int) -> None:
        self._name = segment_name(number)
        self._member_bytes, self._segment_bytes = member_bytes, segment_bytes
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(self._name, flags, 0o644, dir_fd=folder)
        self._digest = hashlib.sha256()
        self._size = self._member = self._lines = self._whole = self._trials = 0
        self._packer = _packer()
        self._known: dict[bytes, int] = {}
        self._fixtures: dict[tuple[str, str], list[int]] = {}

    @property
    def is_full(self) -> bool:
        return self._whole >= self._segment_bytes

    def add(self, trial: Trial, *, flushes: bool) -> tuple[int, bytes, int] | None:
        """Write a trial; return member, digest and number of its steps, None if it has none."""
        lines: list[bytes] = []
        steps, stored, place = trial.trace.steps if trial.trace else (), None, b""
        whole = steps.written(trial) if isinstance(steps, KeptSteps) else None
        if steps:
            written = whole.json[whole.start : whole.end] if whole else steps_json(steps)
            if isinstance(steps, KeptSteps) or _MARK in written or any(map(_may_be_long, steps)):
                written = self._texts_once(written, lines)
            sha = self._once(written, lines)
            place = _reference(sha, self._known[sha], len(steps))
            stored = self._known[sha], sha, len(steps)
        if whole:
            line = whole.json[: whole.start - len(_STEPS)] + whole.json[whole.end + len(b",") :]
        else:
            apart = {"trace": {"steps"}} if place else None
            line = trial.model_dump_json(exclude=apart).encode()
        if (trial.output is not None and len(trial.output) >= LONG_TEXT) or _MARK in line:
            line = self._texts_once(line, lines)
        if place:
            line = line.replace(_TRACE, _TRACE + _STEPS + place + b",", 1)
        members = self._fixtures.setdefault((trial.key.eval, trial.key.fixture), [])
        if members[-1:] != [self._member]:
            members.append(self._member)
        self._trials += 1
        self._write(b"".join(one + b"\n" for one in (*lines, line)), flushes=flushes)
        return stored

    def flush(self) -> None:
        if self._lines:
            self._put(self._packer.flush(zlib.Z_SYNC_FLUSH))

    def close(self) -> Segment:
        self._put(self._packer.flush() if self._lines else b"")
        os.close(self._file)
        fixtures = tuple((*name, tuple(members)) for name, members in self._fixtures.items())
        return Segment(
            segment=self._name,
            bytes=self._size,
            sha256=self._digest.hexdigest(),
            trials=self._trials,
            fixtures=fixtures,
        )

    def _texts_once(self, text: bytes, lines: list[bytes]) -> bytes:
        if b"\\" not in text and max(map(len, text.split(b'"'))) < LONG_TEXT:
            return text

        def stored(found: re.Match[bytes]) -> bytes:
            sha = self._once(found.group(), lines)
            return _reference(sha, self._known[sha])

        return _STORED_ONCE.sub(stored, text)

    def _once(self, text: bytes, lines: list[bytes]) -> bytes:
        """Return the digest of a part of JSON, of which a line is added if there is none yet."""
        digest = hashlib.sha256(text)
        if digest.digest() not in self._known:
            self._known[digest.digest()] = self._member
            lines.append(_BLOB % (digest.hexdigest().encode(), text))
        return digest.digest()

    def _write(self, lines: bytes, *, flushes: bool) -> None:
        self._lines += len(lines)
        self._whole += len(lines)
        packed = self._packer.compress(lines)
        if self._lines < self._member_bytes:
            self._put(packed + self._packer.flush(zlib.Z_SYNC_FLUSH) if flushes else packed)
            return
        self._put(packed + self._packer.flush())
        self._packer, self._lines, self._member = _packer(), 0, self._size

    def _put(self, packed: bytes) -> None:
        self._digest.update(packed)
        self._size += len(packed)
        while packed:
            packed = packed[os.write(self._file, packed) :]


def _packer() -> zlib._Compress:
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)


def _reference(sha: bytes, member: int, steps: int | None = None) -> bytes:
    many = "" if steps is None else f":{steps}"
    return f'"\\u0000{sha.hex()}:{member}{many}"'.encode()


def segment_name(number: int) -> str:
    """Return the name of the nth segment."""
    return f"{number:05}.jsonl.gz"


def segment_names(folder: Path) -> list[str]:
    """Return the names of the segments in a folder, the first first. Raises `OSError`."""
    with os.scandir(folder) as entries:
        return sorted(one.name for one in entries if _SEGMENT.fullmatch(one.name))


class _Member(NamedTuple):
    """A member of a segment: its lines of trials and of parts, where the next one begins, and
    whether all of it is there.
    """

    trials: tuple[bytes, ...]
    parts: Mapping[bytes, bytes]
    end: int
    whole: bool
    size: int


_CACHE_BYTES = 8 * 1024 * 1024


class StoreReader:
    """Reads a store, of which it keeps the members that were asked for last.

    Everything raises `StageFileError` for what cannot be read or is not as it was written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._members: OrderedDict[tuple[int, int], _Member] = OrderedDict()
        self._held = 0

    def trials(self, sharing: Sharing | None = None) -> Iterator[Trial]:
        """Yield the trials in the order they were stored; their steps are read when asked for."""
        closed = {one.segment: one for one in closed_segments(self.folder)}
        sharing = sharing or Sharing()
        for name in self._names(closed):
            if name in closed:
                verify(self.folder, closed[name])
            start, number = 0, int(name[:5])
            while (member := self._member(number, start)).end > start or member.trials:
                for line in member.trials:
                    yield self._trial(number, line, sharing)
                start = member.end
                if not member.whole:
                    break

    def of_fixture(self, evals: Sequence[str], fixture: str) -> Iterator[Trial]:
        """Yield the trials of one fixture in these Evals, found by the index."""
        closed = {one.segment: one for one in closed_segments(self.folder, fixture)}
        wanted, sharing = {(one, fixture) for one in evals}, Sharing()
        named = f'"fixture":{json.dumps(fixture, ensure_ascii=False)},'.encode()
        for name in self._names(closed):
            number, segment = int(name[:5]), closed.get(name)
            if segment is None:
                starts = self._starts(number)
            else:
                found = (each for *where, each in segment.fixtures if tuple(where) in wanted)
                starts = iter(sorted({start for each in found for start in each}))
            for at, start in enumerate(starts):
                if segment is not None and not at:
                    verify(self.folder, segment)
                for line in self._member(number, start).trials:
                    if named in line[:_KEY]:
                        trial = self._trial(number, line, sharing)
                        if (trial.key.eval, trial.key.fixture) in wanted:
                            yield trial

    def part(self, segment: int, member: int, sha: bytes) -> bytes:
        """Return a part of a trial by its digest."""
        text = self._member(segment, member).parts.get(sha)
        if text is None or hashlib.sha256(text).digest() != sha:
            self._damaged(segment, f"a part of a trial is not there ({sha.hex()[:12]})")
        return text

    def whole(self, segment: int, text: bytes) -> bytes:
        """Return JSON with every text in the place of what stands for it."""
        left = LINE_LIMIT - len(text)

        def found(one: re.Match[bytes]) -> bytes:
            nonlocal left
            if _is_inside(one):
                return one[0]
            part = self.part(segment, int(one[2]), bytes.fromhex(one[1].decode()))
            left -= len(part)
            if left < 0:
                self._damaged(segment, f"a trial has more than {LINE_LIMIT:,} bytes")
            return part

        return _STANDS_FOR.sub(found, text)

    def _trial(self, segment: int, line: bytes, sharing: Sharing) -> Trial:
        steps: KeptSteps | None = None

        def without(found: re.Match[bytes]) -> bytes:
            nonlocal steps
            if found[3] is None or steps is not None or _is_inside(found):
                return found[0]
            sha, member, many = bytes.fromhex(found[1].decode()), int(found[2]), int(found[3])
            where = self, segment, member, sha, many
            steps = sharing.steps(where, lambda: _StoredSteps(*where))
            return b"[]"

        text = self.whole(segment, _STANDS_FOR.sub(without, line))
        try:
            return sharing.kept(Trial.model_validate_json(text), steps)
        except ValidationError as error:
            said = error.errors(include_input=False)[0]["msg"]
            self._damaged(segment, f"a line of it is not the run of a fixture: {said}")

    def _starts(self, segment: int) -> Iterator[int]:
        start = 0
        while True:
            member = self._member(segment, start)
            yield start
            if not member.whole:
                return
            start = member.end

    def _member(self, segment: int, start: int) -> _Member:
        known = self._members.get((segment, start))
        if known is not None:
            self._members.move_to_end((segment, start))
            return known
        member = self._read(segment, start)
        if member.whole:
            self._members[segment, start] = member
            self._held += member.size
        while self._held > _CACHE_BYTES and len(self._members) > 1:
            self._held -= self._members.popitem(last=False)[1].size
        return member

    def _read(self, segment: int, start: int) -> _Member:
        """Read a member; of one that a kill tore, its whole lines."""
        unpacker, text, at = zlib.decompressobj(_GZIP), bytearray(), start
        try:
            file = os.open(self.folder / segment_name(segment), _READ)
            with os.fdopen(file, "rb") as stream:
                stream.seek(start)
                while not unpacker.eof and (packed := stream.read(_PIECE)):
                    at += len(packed)
                    left = LINE_LIMIT + MEMBER_BYTES - len(text)
                    text += unpacker.decompress(packed, max(1, left))
                    if unpacker.unconsumed_tail:
                        self._damaged(segment, f"a trial has more than {LINE_LIMIT:,} bytes")
        except zlib.error:
            self._damaged(segment, f"it cannot be unpacked behind byte {start:,}")
        except OSError as error:
            self._damaged(segment, f"it cannot be read: {error.strerror}")
        *lines, _ = bytes(text).split(b"\n")
        parts, trials = {}, []
        for line in lines:
            if not line.startswith(_BLOB_START):
                trials.append(line)
                continue
            sha, _, part = line[len(_BLOB_START) : -1].partition(_BLOB_JSON)
            with suppress(ValueError):
                parts[bytes.fromhex(sha.decode("ascii"))] = part
        end = at - len(unpacker.unused_data)
        return _Member(tuple(trials), parts, end, unpacker.eof, len(text))

    def _names(self, closed: Mapping[str, Segment]) -> list[str]:
        try:
            names = segment_names(self.folder)
        except OSError as error:
            raise StageFileError(
                f"Cannot read the runs of fixtures in {show_here(self.folder)}: {error.strerror}."
            ) from error
        for name in closed.keys() - set(names):
            self._damaged(int(name[:5]), "the index names it, and it is not there")
        return names

    def _damaged(self, segment: int, said: str) -> NoReturn:
        raise StageFileError(
            f"{show_here(self.folder / segment_name(segment))}: {said}.", hint=_HINT
        )


_KEY = 2_000
"""Bytes of a line in which its key stands."""

_HINT = "The store was changed, or another version of Gateval wrote it."


class _StoredSteps(KeptSteps):
    """The steps of a trial, by their digest in a member of a segment."""

    __slots__ = ("_member", "_reader", "_segment", "_sha")

    def __init__(
        self,
        reader: StoreReader,
        segment: int,
        member: int,
        sha: bytes,
        length: int,
        *,
        errors: bool | None = None,
    ) -> None:
        super().__init__(length, errors=errors)
        self._reader, self._segment, self._member, self._sha = reader, segment, member, sha

    def found(self) -> bytes:
        """Read the steps. Raises `StageFileError`."""
        reader, segment = self._reader, self._segment
        return reader.whole(segment, reader.part(segment, self._member, self._sha))


def closed_segments(folder: Path, fixture: str | None = None) -> tuple[Segment, ...]:
    """Return what the index says, or of the fixtures what it says of one; a line that a kill tore,
    and a store without an index, say nothing.

    Raises `StageFileError` for an index that cannot be read.
    """
    path = folder / INDEX
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            lines = file.read(LINE_LIMIT).splitlines(keepends=True)
        segments = [_segment(one, fixture) for one in lines if one.endswith(b"\n")]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StageFileError(f"Cannot read {show_here(path)}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise StageFileError(f"{show_here(path)} is damaged.", hint=_HINT) from error
    for one in segments:
        if not _SEGMENT.fullmatch(one.segment):
            raise StageFileError(f"{show_here(path)} names no segment.", hint=_HINT)
    return tuple(segments)


def _segment(line: bytes, fixture: str | None) -> Segment:
    """Read a line of the index. Raises `ValueError`."""
    if fixture is None:
        return Segment.model_validate_json(line)
    found = json.loads(line)
    if isinstance(found, dict) and isinstance(named := found.get("fixtures"), list):
        found["fixtures"] = [one for one in named if isinstance(one, list) and fixture in one[1:2]]
    return Segment.model_validate_json(json.dumps(found))


def verify(folder: Path, segment: Segment) -> None:
    """See that a closed segment is as it was written. Raises `StageFileError`."""
    path, digest = folder / segment.segment, hashlib.sha256()
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            while piece := file.read(1024 * 1024):
                digest.update(piece)
    except OSError as error:
        raise StageFileError(f"Cannot read {show_here(path)}: {error.strerror}.") from error
    if digest.hexdigest() != segment.sha256:
        raise StageFileError(
            f"{show_here(path)} is not as it was written: its SHA-256 is "
            f"{digest.hexdigest()[:12]}…, and {INDEX} says {segment.sha256[:12]}….",
            hint=_HINT,
        )


def stored_trials(run: Path, old_log: str) -> tuple[Trial, ...]:
    """Return the trials that a run left in its folder, in the order they were stored; of two with
    one key, the later. Their steps are read when somebody asks for them.

    A run of an earlier version left one log, a trial a line. Raises `StageFileError` when what
    there is cannot be read or is not as it was written.
    """
    store, log = run / STORE_FOLDER, run / old_log
    if store.is_dir():
        found = StoreReader(store).trials()
    elif log.exists():
        found = _logged(log)
    else:
        return ()
    return tuple({one.key: one for one in found}.values())


def _logged(log: Path) -> Iterator[Trial]:
    shown, number = show_here(log), 0
    try:
        with os.fdopen(os.open(log, _READ), "rb") as file:
            for number, line in enumerate(iter(partial(file.readline, LINE_LIMIT + 1), b""), 1):
                if len(line) > LINE_LIMIT:
                    raise StageFileError(f"{shown}:{number} has more than {LINE_LIMIT:,} bytes.")
                if line.endswith(b"\n"):
                    yield Trial.model_validate_json(line)
    except ValidationError as error:
        raise StageFileError(
            f"{shown}:{number} is not the run of a fixture: "
            f"{error.errors(include_input=False)[0]['msg']}.",
            hint=_HINT,
        ) from error
    except OSError as error:
        raise StageFileError(
            f"Cannot read the runs of fixtures in {shown}: {error.strerror}."
        ) from error
