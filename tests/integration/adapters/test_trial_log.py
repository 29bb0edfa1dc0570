from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gateval.adapters.results_folder import TrialLogFile, read_trials
from gateval.domain.trials.trial import Outcome, Side, Trial, TrialKey
from gateval.errors import EvaluationError, StageFileError
from gateval.ports.storage import TrialLog


def trial(number: int, **more: object) -> Trial:
    key = TrialKey(eval="e", fixture="f", side=Side.HEAD, repetition=number)
    return Trial.model_validate({"key": key, "outcome": Outcome.PASS, **more})


TRIALS = tuple(trial(number, output=f"größe\n\u2028{number}") for number in range(1, 6))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trials.jsonl"


def store(path: Path, trials: tuple[Trial, ...]) -> None:
    with TrialLogFile(path) as file:
        log: TrialLog = file
        for each in trials:
            log.append(each)


def test_what_was_stored_is_read_back_in_order(path: Path) -> None:
    store(path, TRIALS)
    assert read_trials(path) == TRIALS
    assert path.read_bytes().count(b"\n") == len(TRIALS)


def test_each_trial_is_on_disk_at_once(path: Path) -> None:
    with TrialLogFile(path) as log:
        for number, each in enumerate(TRIALS, start=1):
            log.append(each)
            assert read_trials(path) == TRIALS[:number]


def test_a_killed_process_loses_nothing_that_it_stored(path: Path) -> None:
    program = """
import os, pathlib, signal, sys
from gateval.adapters.results_folder import TrialLogFile
from gateval.domain.trials.trial import Trial
log = TrialLogFile(pathlib.Path(sys.argv[1]))
for line in sys.stdin:
    log.append(Trial.model_validate_json(line))
os.kill(os.getpid(), signal.SIGKILL)
"""
    lines = "".join(f"{each.model_dump_json()}\n" for each in TRIALS)
    command = [sys.executable, "-c", program, str(path)]
    killed = subprocess.run(command, input=lines, text=True, check=False)
    assert killed.returncode == -9
    assert read_trials(path) == TRIALS


@pytest.mark.parametrize("kept", [0, 1, 20, -2, -1])
def test_a_torn_last_line_counts_as_never_written(path: Path, kept: int) -> None:
    store(path, TRIALS)
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:kept])
    assert read_trials(path) == TRIALS[:-1]
    store(path, (trial(7),))
    assert read_trials(path) == (*TRIALS[:-1], trial(7))


def test_a_torn_line_of_any_length_is_cut_before_going_on(path: Path) -> None:
    store(path, TRIALS[:2])
    for torn in (b"x" * 200_000, b"y"):
        with path.open("ab") as file:
            file.write(torn)
        store(path, ())
        assert read_trials(path) == TRIALS[:2]
    path.write_bytes(b"z" * 200_000)
    store(path, TRIALS)
    assert read_trials(path) == TRIALS


@pytest.mark.parametrize("line", [b"", b"{}", b"\xff\xfe", b'{"key": 1}', b"[" * 100_000])
def test_a_whole_line_that_is_no_trial_is_refused_with_its_number(path: Path, line: bytes) -> None:
    store(path, TRIALS[:2])
    with path.open("ab") as file:
        file.write(line + b"\n")
    store(path, TRIALS[2:])
    with pytest.raises(StageFileError, match=r"trials\.jsonl:3 is not the run of a fixture"):
        read_trials(path)


def test_an_unknown_field_is_refused(path: Path) -> None:
    line = trial(1).model_dump_json().replace('{"key"', '{"verdict": "pass", "key"', 1)
    path.write_text(line + "\n")
    with pytest.raises(StageFileError, match="is not the run of a fixture"):
        read_trials(path)


def test_a_line_above_the_limit_is_refused_and_a_log_of_any_size_is_not(path: Path) -> None:
    store(path, TRIALS)
    longest = max(map(len, path.read_bytes().splitlines(keepends=True)))
    assert path.stat().st_size > longest
    assert read_trials(path, limit=longest) == TRIALS
    with pytest.raises(StageFileError, match=f"has more than {longest - 1:,} bytes"):
        read_trials(path, limit=longest - 1)


def test_a_missing_log_is_an_error(path: Path) -> None:
    with pytest.raises(
        StageFileError, match=r"Cannot read the runs of fixtures in .*trials\.jsonl"
    ):
        read_trials(path)


def test_a_log_is_never_written_through_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    path.symlink_to("other")
    with pytest.raises(EvaluationError, match="Cannot store the runs of fixtures"):
        TrialLogFile(path)
    assert (tmp_path / "other").read_text() == "other"


def test_a_full_disk_is_an_error_with_a_sentence() -> None:
    with pytest.raises(
        EvaluationError, match="Cannot store the runs of fixtures in /dev/full"
    ) as caught:
        store(Path("/dev/full"), TRIALS)
    assert "space" in caught.value.hint
