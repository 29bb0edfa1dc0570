"""Stored results in a folder that strangers filled."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateval.adapters.parts import MOST_PARTS, opened_parts
from gateval.adapters.store import StoreReader, TrialStore
from gateval.app.run.parts import read_part
from gateval.app.run.trial_lines import TrialLines
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import ResultsPart, digest_of
from gateval.domain.tree import Revision
from gateval.domain.trials.kept import KeptSteps, tells_errors
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import Outcome, Side, Trial, TrialKey
from gateval.errors import StageFileError
from gateval.render.stage import dump, part_pieces

NAME = "results.v1.json"


def read(folder: Path, limit: int = 100) -> tuple[bytes, ...]:
    return tuple(one.content() for one in opened_parts(folder, NAME, limit=limit))


def put(folder: Path, content: bytes = b"{}") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_bytes(content)
    return folder / NAME


def test_the_folder_of_one_run(tmp_path: Path) -> None:
    put(tmp_path, b"one")
    put(tmp_path / "inner", b"other")
    assert read(tmp_path) == (b"one",)


def test_the_folders_of_several_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        put(tmp_path / name, name.encode())
    (tmp_path / "empty").mkdir()
    (tmp_path / "note.txt").write_text("")
    assert read(tmp_path) == (b"a", b"b", b"c")


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = put(tmp_path / "secret", b"key")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "part").symlink_to(secret.parent)
    with pytest.raises(StageFileError, match="holds no"):
        read(folder)
    (folder / NAME).symlink_to(secret)
    with pytest.raises(StageFileError, match="cannot be read"):
        read(folder)
    linked = tmp_path / "linked"
    linked.symlink_to(secret.parent)
    with pytest.raises(StageFileError, match="cannot be read"):
        read(linked)


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    with pytest.raises(StageFileError, match="no plain file"):
        read(tmp_path)


def test_a_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(StageFileError, match=r"no plain file|cannot be read"):
        read(tmp_path)


def test_too_large(tmp_path: Path) -> None:
    put(tmp_path, b"x" * 101)
    with pytest.raises(StageFileError, match="larger than"):
        read(tmp_path)


def test_too_many(tmp_path: Path) -> None:
    for number in range(MOST_PARTS + 1):
        put(tmp_path / str(number))
    with pytest.raises(StageFileError, match="too many"):
        read(tmp_path, 10_000)


def test_too_large_together(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / str(number), b"x" * 40)
    with pytest.raises(StageFileError, match="larger than what the plan may take"):
        read(tmp_path)
    assert len(read(tmp_path, 120)) == 3


@pytest.mark.parametrize("name", ["", "absent"])
def test_nothing_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(StageFileError) as refused:
        read(tmp_path / name)
    assert refused.value.hint


def trial(number: int) -> Trial:
    key = TrialKey(eval="e", fixture="f", side=Side.HEAD, repetition=number)
    said = Step(number=1, kind=StepKind.ASSISTANT, text=f'It says ,"trials":[\n {number} ' * 30)
    asked = Step(number=2, kind=StepKind.TOOL_CALL, tool="find", arguments={"all": [number]})
    trace = Trace(steps=(said, asked))
    return Trial(key=key, outcome=Outcome.FAIL, output="No.", trace=trace)


HEAD = Revision(name="", commit=None, tree="0" * 40)
PART = ResultsPart(
    plan=digest_of(Plan(head=HEAD, nothing="None.")),
    trials=tuple(map(trial, (1, 2, 3))),
    ended="Over.",
)
WRITTEN = b"".join(part_pieces(PART))


def read_one(folder: Path, content: bytes) -> ResultsPart:
    put(folder, content)
    (found,) = (read_part(one, TrialLines()) for one in opened_parts(folder, NAME, limit=100_000))
    return found


def test_a_part_is_read_trial_by_trial_and_its_steps_stay_in_the_file(tmp_path: Path) -> None:
    found = read_one(tmp_path, WRITTEN)
    traces = [one.trace for one in found.trials if one.trace]
    assert all(isinstance(one.steps, KeptSteps) for one in traces)
    assert found == PART
    assert b"".join(part_pieces(found)) == WRITTEN


def test_a_part_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    found = read_one(tmp_path, WRITTEN)
    traces = [one.trace for one in found.trials if one.trace]
    put(tmp_path, WRITTEN.replace(b"It says", b"It said"))
    with pytest.raises(StageFileError, match="changed while it was read"):
        tuple(traces[1].steps)
    with pytest.raises(StageFileError, match="changed while it was read"):
        b"".join(part_pieces(found))


def test_what_was_read_or_stored_tells_of_errors_without_its_steps(tmp_path: Path) -> None:
    first, second, _ = PART.trials
    down = Step(number=1, kind=StepKind.ERROR, text="The provider is down.")
    failed = second.replace(trace=Trace(steps=(down,)))
    part = PART.replace(trials=(first, failed))
    found = read_one(tmp_path / "part", b"".join(part_pieces(part)))
    with TrialStore(tmp_path / "store") as store:
        stored = [store.append(one) for one in part.trials]
    (tmp_path / "part" / NAME).unlink()
    for one in (found.trials, stored):
        assert [each.trace and tells_errors(each.trace.steps) for each in one] == [False, True]


def test_a_trial_that_was_changed_is_written_as_it_is_now(tmp_path: Path) -> None:
    found = read_one(tmp_path / "part", WRITTEN)
    first, *others = (one.replace(output="Yes.") for one in found.trials)
    changed = PART.replace(trials=tuple(one.replace(output="Yes.") for one in PART.trials))
    assert b"".join(part_pieces(found.replace(trials=(first, *others)))) == b"".join(
        part_pieces(changed)
    )
    with TrialStore(tmp_path / "store") as store:
        store.append(first)
        store.append(found.trials[1])
    stored = tuple(StoreReader(tmp_path / "store").trials())
    assert stored == (changed.trials[0], PART.trials[1])


def test_what_was_read_of_a_part_is_found_in_the_store_that_it_went_to(tmp_path: Path) -> None:
    found = read_one(tmp_path / "part", WRITTEN)
    with TrialStore(tmp_path / "store") as store:
        stored = [store.append(one) for one in found.trials]
    (tmp_path / "part" / NAME).unlink()
    assert tuple(stored) == found.trials == PART.trials
    assert tuple(StoreReader(tmp_path / "store").trials()) == PART.trials


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"},\n", b"}\n"),
        (b'"outcome":"fail"', b'"outcome":"pass","outcome":"fail"'),
        (b'"seconds":0', b'"seconds":NaN'),
        (b'"all":[2]', b'"all":' + b"[" * 150 + b"]" * 150),
        (b'"output":"No."', b'"output":"\\ud800"'),
        (b'"repeats":', b'"never":'),
        (b'"trials":[\n', b'"plan":{},"trials":[\n'),
        (b'"ended":', b'"trials":[],"ended":'),
        (b"\n],", b",\n],"),
    ],
)
def test_a_line_that_says_two_things_is_refused_as_in_a_file_that_is_read_whole(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    assert before in WRITTEN
    with pytest.raises(StageFileError, match="The part"):
        read_one(tmp_path, WRITTEN.replace(before, after))


def test_a_part_that_is_laid_out_otherwise_is_read_whole(tmp_path: Path) -> None:
    assert read_one(tmp_path, dump(PART).encode()) == PART
    assert read_one(tmp_path, WRITTEN.replace(b'"outcome":"fail"', b'"outcome": "fail"')) == PART
