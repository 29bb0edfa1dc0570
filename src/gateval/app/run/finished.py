"""What lets a finished run be read without parsing its results: beside the store of its trials
stands where plan and facts are in the results file, and how each fixture compares.

It counts only as long as that file is the one that the run wrote, and only where the trials count
as they were stored. For whom it does not count, the results file does.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from gateval.adapters.folders import write_whole
from gateval.adapters.store import STORE_FOLDER, StoreReader
from gateval.domain.base import Count, Digest, Value
from gateval.domain.decision.decision import Report
from gateval.domain.paths import show_path
from gateval.domain.plan.plan import Plan
from gateval.domain.results.averages import group_trials
from gateval.domain.results.comparison import FixtureComparison
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import Side, Trial
from gateval.errors import StageFileError
from gateval.render.report.facts import FixtureFacts, gather
from gateval.render.stage import Ending, ResultsPlaces, load_ending, load_results, places_in

COMPARED_FILE = "compared.jsonl.gz"
_MOST = 256 * 1024 * 1024
"""Bytes of its lines that are read."""

_LINE = 1024 * 1024
"""Bytes of one line; a longer one is of no run."""


class _Written(Value):
    """The results file as it was written: its size, digest and time, how many bytes come before
    its first trial and behind its last, and how many trials there are. `page` is the digest of the
    page to look at, empty where none was written.
    """

    size: Count
    sha256: Digest
    modified: Count
    before: Count
    after: Count
    trials: Count
    page: str = ""


class _Lists(Value):
    """Where the plan's fixtures are in the results file: the first byte of each Eval's, and the one
    behind its last.
    """

    lists: Mapping[str, tuple[Count, Count]]


class _Compared(Value):
    """How a fixture of an Eval compares, and where it stands in the plan of the results file: at
    which byte, and how many; none where that is not known.
    """

    eval: str
    compared: FixtureComparison
    at: Count = 0
    size: Count = 0


class Counted:
    """The pieces of a file as bytes, counted as they are taken: `ends` are where each ends."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = pieces
        self.digest = hashlib.sha256()
        self.ends = array("Q")

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for piece in self._pieces:
            data = piece.encode()
            self.digest.update(data)
            size += len(data)
            self.ends.append(size)
            yield data


def note_compared(
    report: Report,
    run: Path,
    results: Path,
    written: Counted,
    stored: Collection[Trial],
    page: str = "",
) -> None:
    """Write what lets this run be read by its store, where that holds its trials as they count.

    `written` is what was taken for the results file, `stored` what the run had stored, `page` the
    digest of its page. A run that
    keeps no store, or of which a rule counts a trial otherwise, writes nothing.
    """
    trials, known = report.results.trials, set(map(id, stored))
    store = run / STORE_FOLDER
    if not store.is_dir() or any(id(one) not in known for one in trials):
        return
    places = places_in(report.results.plan, written.ends)
    facts = _Written(
        size=written.ends[-1],
        sha256=written.digest.hexdigest(),
        modified=results.stat().st_mtime_ns,
        before=places.trials,
        after=written.ends[-1] - written.ends[-2],
        trials=len(trials),
        page=page,
    )
    write_whole(store / COMPARED_FILE, _packed(_told(report, facts, places)))


def _told(report: Report, facts: _Written, places: ResultsPlaces) -> Iterator[Value]:
    yield facts
    lists = {name: (own[0][0], own[-1][1]) for name, own in places.fixtures.items() if own}
    yield _Lists(lists=lists)
    where = {
        (planned.name, one.name): place
        for planned in report.results.plan.evals
        for one, place in zip(planned.fixtures, places.fixtures[planned.name], strict=True)
    }
    for fact in gather(report):
        at, end = where[fact.planned.name, fact.fixture.name]
        yield _Compared(eval=fact.planned.name, compared=fact.compared, at=at, size=end - at)


def _packed(values: Iterable[Value]) -> Iterator[bytes]:
    packer = zlib.compressobj(4, zlib.DEFLATED, _GZIP)
    for one in values:
        yield packer.compress(one.model_dump_json().encode() + b"\n")
    yield packer.flush()


_GZIP = 31


def finished_results(run: Path, results: Path) -> Results | None:
    """Return the results of a finished run, whose steps are read when somebody asks for them.

    None where the results file has to be read. Raises `StageFileError` for a store that is not as
    it was written.
    """
    found = _current(run, results, every=True)
    if found is None:
        return None
    trials = {one.key: one for one in StoreReader(run / STORE_FOLDER).trials()}
    if len(trials) != found.written.trials:
        return None
    shell = _shell(results, found)
    ordered = tuple(sorted(trials.values(), key=lambda one: one.key.order))
    try:
        return Results(**{**dict(shell), "trials": ordered})
    except ValidationError:  # a name was a secret, and is another in the results
        return None


def finished_ending(run: Path, results: Path) -> Ending | None:
    """Return how a finished run ended; None where the results have to be read for that."""
    found = _current(run, results)
    if found is None:
        return None
    with results.open("rb") as file:
        file.seek(-found.written.after, os.SEEK_END)
        return load_ending(file.read(), show_path(str(results)))


class OneFixture(NamedTuple):
    """A fixture of a run, in the Evals that have it, and the plan with nothing else."""

    plan: Plan
    facts: tuple[FixtureFacts, ...]


def finished_fixture(run: Path, results: Path, evaluation: str, fixture: str) -> OneFixture | None:
    """Return one fixture of a finished run, of one Eval or for the empty name of all; nothing else
    is read.

    None where the results have to be read, or do not have it. Raises `StageFileError` for a store
    that is not as it was written.
    """
    found = _current(run, results, fixture)
    if found is None:
        return None
    try:
        plan = _shell(results, found, fixture).plan
    except StageFileError:  # what is known of others does not fit the plan of one
        return None
    names = [one.name for one in plan.evals]
    stored = StoreReader(run / STORE_FOLDER).of_fixture(names, fixture)
    trials = group_trials({one.key: one for one in stored}.values())
    compared = {one.eval: one.compared for one in found.compared}
    facts = tuple(
        FixtureFacts(
            one,
            one.fixture(fixture),
            compared[one.name],
            trials.get((one.name, fixture, Side.HEAD), ()),
            trials.get((one.name, fixture, Side.BASE), ()),
        )
        for one in plan.evals
        if one.name in compared and evaluation in {"", one.own_name}
    )
    return OneFixture(plan, facts) if facts else None


class _Current(NamedTuple):
    """What stands beside the store about the results file that is there, and about one fixture:
    `places` are its first byte and its size by Eval, or those of all fixtures.
    """

    written: _Written
    lists: Mapping[str, tuple[int, int]]
    compared: tuple[_Compared, ...]
    places: Mapping[str, Sequence[tuple[int, int]]]


def finished_page(run: Path, results: Path, page: Path) -> str | None:
    """Return the page that a finished run wrote; None where one has to be made of its results."""
    found = _current(run, results)
    if found is None or not found.written.page:
        return None
    try:
        content = page.read_bytes()
    except OSError:
        return None
    same = hashlib.sha256(content).hexdigest() == found.written.page
    return content.decode("utf-8", "replace") if same else None


def _current(
    run: Path, results: Path, fixture: str | None = None, *, every: bool = False
) -> _Current | None:
    """Return what stands there about results that are as they were written, and about one fixture;
    where `every` one is wanted, only where it is.
    """
    lists: Mapping[str, tuple[int, int]] = {}
    compared: list[_Compared] = []
    places: dict[str, list[tuple[int, int]]] = {}
    named = b"" if fixture is None else f'"{fixture}"'.encode()
    try:
        with gzip.open(run / STORE_FOLDER / COMPARED_FILE) as file:
            written = _Written.model_validate_json(file.readline(_LINE))
            left = _MOST if named or every else 0
            for line in iter(partial(file.readline, _LINE), b"") if left else ():
                if (left := left - len(line)) < 0:
                    return None
                if line.startswith(_LISTS):
                    lists = _Lists.model_validate_json(line).lists
                elif every or named in line:
                    one = _Compared.model_validate_json(line)
                    compared += [one] if one.compared.fixture == fixture else []
                    places.setdefault(one.eval, []).append((one.at, one.size))
        there = results.stat()
    except (OSError, EOFError, zlib.error, ValidationError):
        return None
    if there.st_size != written.size or not _lies_inside(written, lists, places):
        return None
    if there.st_mtime_ns != written.modified and _digest(results) != written.sha256:
        return None  # a copy has another time, and the same digest
    if not every:
        places = {}
        for one in compared:
            places.setdefault(one.eval, []).extend([(one.at, one.size)] if one.size else [])
    return _Current(written, lists, tuple(compared), places)


def _lies_inside(
    written: _Written,
    lists: Mapping[str, tuple[int, int]],
    places: Mapping[str, Iterable[tuple[int, int]]],
) -> bool:
    """Whether the lists stand one behind the other before the trials, and all in the file."""
    ends = [0, *(end for place in lists.values() for end in place), written.before]
    inside = all(at + size <= written.before for own in places.values() for at, size in own)
    return inside and ends == sorted(ends) and written.before + written.after <= written.size


def _is_filled(place: tuple[int, int], inside: Iterable[tuple[int, int]]) -> bool:
    """Whether these stand one after the other in a list, with nothing but a comma between."""
    at, end = place
    for start, size in sorted(inside):
        if start != at or not size:
            return False
        at = start + size + 1
    return at == end + 1


_LISTS = b'{"lists":'


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shell(results: Path, found: _Current, fixture: str | None = None) -> Results:
    """Return the results without their trials; with `fixture`, no other is read."""
    written, name = found.written, show_path(str(results))
    with results.open("rb") as file:
        number = file.fileno()

        def each(places: Iterable[tuple[int, int]]) -> Iterator[bytes]:
            return (os.pread(number, size, at) for at, size in places)

        data, at = b"", 0
        for planned, (first, end) in found.lists.items():
            mine = found.places.get(planned, ()) if fixture is not None else ()
            data += os.pread(number, first - at, at) + b",".join(each(mine))
            at = end
        data += os.pread(number, written.before - at, at)
        data += os.pread(number, written.after, written.size - written.after)
        if fixture is not None:
            return load_results(data, name, fixture=fixture)
        filled = found.lists and all(
            _is_filled(place, found.places.get(planned, ()))
            for planned, place in found.lists.items()
        )
        if not filled:
            return load_results(os.pread(number, written.before, 0) + data[-written.after :], name)
        fixtures = {planned: each(sorted(places)) for planned, places in found.places.items()}
        return load_results(data, name, fixtures=fixtures)
