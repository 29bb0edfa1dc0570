from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from gateval.adapters.folders import is_being_written
from gateval.adapters.store import (
    INDEX,
    STORE_FOLDER,
    StoreReader,
    TrialStore,
    closed_segments,
    stored_trials,
)
from gateval.domain.trials.kept import KeptSteps
from gateval.domain.trials.trial import Outcome, Side, Trial, TrialKey
from gateval.errors import EvaluationError, StageFileError
from gateval.ports.storage import TrialLog
from tests.helpers import stored

LONG = 'He said: "größe\n\u2028" \\ \0 ' * 40
FORGED = '"\0' + "ab" * 32 + ':0"'


def trial(number: int, *texts: str, fixture: str = "f", **more: object) -> Trial:
    key = TrialKey(eval="e", fixture=fixture, side=Side.HEAD, repetition=number)
    steps = [
        {"number": at, "kind": "tool_call", "text": text, "arguments": {text: [text, {"a": text}]}}
        for at, text in enumerate(texts, start=1)
    ]
    told = {"trace": {"steps": steps, "models": ["a/b"]}} if texts else {}
    return Trial.model_validate({"key": key, "outcome": Outcome.PASS, **told, **more})


TRIALS = tuple(
    trial(number, f"größe\n\u2028{number}", LONG, FORGED, FORGED[1:-1], output=output)
    for number, output in enumerate((LONG, FORGED[1:-1], FORGED, "short", ""), start=1)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / STORE_FOLDER


def store(folder: Path, trials: tuple[Trial, ...], *sizes: int) -> None:
    with TrialStore(folder, *sizes) as open_store:
        log: TrialLog = open_store
        for each in trials:
            assert log.append(each) == each


def read(folder: Path) -> tuple[Trial, ...]:
    return stored_trials(folder.parent, stored.OLD_LOG)


def first(folder: Path) -> Path:
    return folder / "00001.jsonl.gz"


def test_what_was_stored_is_read_back_to_the_byte(folder: Path) -> None:
    with TrialStore(folder) as log:
        kept = [log.append(each) for each in TRIALS]
        assert is_being_written(folder)
    assert not is_being_written(folder)
    for found in (kept, read(folder)):
        for ours, theirs in zip(TRIALS, found, strict=True):
            assert theirs.trace
            assert isinstance(theirs.trace.steps, KeptSteps)
            assert theirs.model_dump_json() == ours.model_dump_json()
            assert theirs == ours


def test_equal_texts_and_equal_traces_are_stored_once(folder: Path) -> None:
    store(folder, tuple(trial(number, LONG, LONG, output=LONG) for number in range(1, 50)))
    lines = stored.content(first(folder)).splitlines()
    assert sum(b"He said" in one for one in lines) == 1
    assert len(lines) == 49 + 2, "and the trace, of which there is one as well"
    assert all(isinstance(json.loads(one), dict) for one in lines)


def test_each_trial_is_on_disk_at_once(folder: Path) -> None:
    with TrialStore(folder) as log:
        for number, each in enumerate(TRIALS, start=1):
            log.append(each)
            assert read(folder) == TRIALS[:number]


def test_what_is_kept_of_another_store_is_written_together_and_read_at_once(folder: Path) -> None:
    with TrialStore(folder) as log:
        first = [log.append(one) for one in TRIALS]
    place = folder.with_name("next")
    with TrialStore(place) as log:
        kept = log.keep(first)
        assert tuple(StoreReader(place).trials()) == kept == TRIALS


def test_a_killed_process_loses_nothing_that_it_stored(folder: Path) -> None:
    program = """
import os, pathlib, signal, sys
from gateval.adapters.store import TrialStore
from gateval.domain.trials.trial import Trial
log = TrialStore(pathlib.Path(sys.argv[1]))
for line in sys.stdin:
    log.append(Trial.model_validate_json(line))
os.kill(os.getpid(), signal.SIGKILL)
"""
    lines = "".join(f"{each.model_dump_json()}\n" for each in TRIALS)
    command = [sys.executable, "-c", program, str(folder)]
    killed = subprocess.run(command, input=lines, text=True, check=False)
    assert killed.returncode == -9
    assert read(folder) == TRIALS
    assert closed_segments(folder) == ()
    store(folder, (trial(7),))
    assert read(folder) == (*TRIALS, trial(7))


def test_torn_at_any_byte_all_before_that_is_there_and_a_run_goes_on(folder: Path) -> None:
    store(folder, TRIALS, 4_000)
    whole = first(folder).read_bytes()
    assert whole.count(b"\x1f\x8b\x08") >= 2, "several members"
    (folder / INDEX).unlink()
    found = []
    for size in range(len(whole) + 1):
        first(folder).write_bytes(whole[:size])
        found.append(len(read(folder)))
        assert read(folder) == TRIALS[: found[-1]]
    assert found == sorted(found)
    assert set(found) == set(range(len(TRIALS) + 1))
    first(folder).write_bytes(whole[:-30])
    store(folder, (trial(9),))
    assert read(folder)[-1] == trial(9)
    assert len(read(folder)) == len(TRIALS)


def test_a_changed_byte_of_a_closed_segment_is_found_and_said(folder: Path) -> None:
    store(folder, TRIALS)
    whole = first(folder).read_bytes()
    for at in range(0, len(whole), 7):
        first(folder).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        for look in (lambda: read(folder), lambda: [*StoreReader(folder).of_fixture(["e"], "f")]):
            with pytest.raises(StageFileError, match=r"00001\.jsonl\.gz is not as it was written"):
                look()
    first(folder).unlink()
    with pytest.raises(StageFileError, match="the index names it, and it is not there"):
        read(folder)


@pytest.mark.parametrize("line", [b"", b"{}", b"\xff\xfe", b'{"key": 1}', b"[" * 100_000])
def test_a_whole_line_that_is_no_trial_is_refused(folder: Path, line: bytes) -> None:
    store(folder, TRIALS)
    packer = zlib.compressobj(wbits=31)
    (folder / "00002.jsonl.gz").write_bytes(packer.compress(line + b"\n") + packer.flush())
    with pytest.raises(StageFileError, match=r"00002\.jsonl\.gz: a line of it is not the run"):
        read(folder)


def test_a_part_that_is_not_there_or_is_another_is_said(folder: Path) -> None:
    store(folder, TRIALS[:1])
    lines = stored.content(first(folder))
    for changed in (lines.replace(b"He said", b"He SAID", 1), lines.partition(b"\n")[2]):
        packer = zlib.compressobj(wbits=31)
        (folder / INDEX).unlink(missing_ok=True)
        first(folder).write_bytes(packer.compress(changed) + packer.flush())
        with pytest.raises(StageFileError, match="a part of a trial is not there"):
            [*map(Trial.model_dump_json, read(folder))]


def test_one_fixture_is_read_from_its_members(folder: Path) -> None:
    many = tuple(
        trial(number, LONG, f"{number}", fixture=f"f{at}")
        for number in range(1, 20)
        for at in range(10)
    )
    store(folder, many, 8_000, 60_000)
    assert len(closed_segments(folder)) > 1
    reader = StoreReader(folder)
    mine = tuple(one for one in many if one.key.fixture == "f3")
    assert tuple(reader.of_fixture(["e"], "f3")) == mine
    assert [*reader.of_fixture(["other"], "f3")] == [*reader.of_fixture(["e"], "f33")] == []
    (folder / INDEX).unlink()
    assert tuple(StoreReader(folder).of_fixture(["e"], "f3")) == mine
    assert read(folder) == many


def test_of_two_with_one_key_the_later_counts(folder: Path) -> None:
    store(folder, (trial(1), trial(2), trial(1, reason="again")))
    assert [(one.key.repetition, one.reason) for one in read(folder)] == [(1, "again"), (2, "")]


def test_an_old_log_is_read_and_its_torn_last_line_left_out(folder: Path) -> None:
    store(folder, TRIALS)
    lines = stored.log(folder.parent)
    log = stored.make_old(folder.parent, lines + lines[:40])
    assert read(folder) == TRIALS
    log.write_text(lines + "{}\n")
    with pytest.raises(StageFileError, match=r"trials\.jsonl:6 is not the run of a fixture"):
        read(folder)


def test_a_store_is_never_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    folder.symlink_to("other")
    with pytest.raises(EvaluationError, match="Cannot store the runs of fixtures"):
        TrialStore(folder)
    assert list((tmp_path / "other").iterdir()) == []


def test_a_full_disk_is_an_error_with_a_sentence_and_what_was_stored_is_kept(folder: Path) -> None:
    program = """
import pathlib, resource, signal, sys
from gateval.adapters.store import TrialStore
from gateval.domain.trials.trial import Trial
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from gateval.errors import EvaluationError
number = 0
try:
    with TrialStore(pathlib.Path(sys.argv[1])) as log:
        for number, line in enumerate(sys.stdin):
            log.append(Trial.model_validate_json(line))
except EvaluationError as error:
    print(number, error.message, error.hint)
"""
    many = [trial(number, *map(str, range(number, number + 40))) for number in range(1, 50)]
    command = [sys.executable, "-c", program, str(folder)]
    lines = "".join(f"{each.model_dump_json()}\n" for each in many)
    said = subprocess.run(command, input=lines, text=True, capture_output=True, check=True).stdout
    assert "Cannot store the runs of fixtures in" in said
    assert "File too large" in said
    assert "space" in said
    number = int(said.split()[0])
    assert 0 < number < 49
    assert read(folder) == tuple(many[:number])
