from __future__ import annotations

from pathlib import Path

import pytest

from gateval.candidates.failures import (
    command_line,
    failure,
    from_the_export,
    no_start,
    server_line,
)
from gateval.candidates.program import MIB, End, ProgramLimits, Ran
from gateval.domain.trials.trial import DETAIL_LINES, Cause

LIMITS = ProgramLimits(seconds=1.5, grace_seconds=0)
ARGV = ("node", "my agent.js")


def ran(end: End = End.EXITED, code: int = 0, stdout: bytes = b"", stderr: bytes = b"") -> Ran:
    return Ran(end=end, code=code, stdout=stdout, stderr=stderr, seconds=0.5)


@pytest.mark.parametrize(
    ("end", "code", "reason"),
    [
        (End.EXITED, 3, "The agent ended with exit code 3."),
        (End.EXITED, -11, "The agent was ended by SIGSEGV."),
        (End.EXITED, -9, "The agent was ended by SIGKILL, perhaps for lack of memory."),
        (End.EXITED, -64, "The agent was ended by SIGRTMAX."),
        (End.EXITED, -40, "The agent was ended by signal 40."),
        (End.TIMED_OUT, -15, "The agent was not done within 1.5 s and was ended."),
        (
            End.STDOUT_OVER,
            -15,
            "The agent printed more than 1 MiB on standard output and was ended.",
        ),
        (
            End.STDERR_OVER,
            -15,
            "The agent printed more than 64 MiB on standard error and was ended.",
        ),
    ],
)
def test_each_way_to_fail_has_its_sentence(end: End, code: int, reason: str) -> None:
    told = failure("The agent", ran(end, code), ARGV, LIMITS)
    assert told is not None
    assert told.reason == reason
    assert told.cause is Cause.CANDIDATE
    assert told.seconds == 0.5


def test_a_program_that_ended_well_has_not_failed() -> None:
    assert failure("The agent", ran(stderr=b"noise"), ARGV, LIMITS) is None


def test_details_are_the_command_the_end_of_stderr_then_of_stdout() -> None:
    lines = b"".join(b"err %d\n" % n for n in range(15))
    told = failure("It", ran(code=1, stdout=b"out 1\n" * 2 * MIB, stderr=lines), ARGV, LIMITS)
    assert told is not None
    assert told.detail[0] == "$ node 'my agent.js'"
    assert told.detail[1:16] == tuple(f"err {n}" for n in range(15))
    assert told.detail[16:] == ("out 1",) * 5
    assert len(told.detail) == 1 + DETAIL_LINES


def test_a_program_that_did_not_start_names_the_command() -> None:
    told = no_start("`x` was not found.", command_line(("x", "--y")))
    assert told.detail == ("$ x --y",)
    assert told.cause is Cause.CANDIDATE
    assert len(command_line(("a" * 10_000,))) <= 500


def test_where_the_export_lies_is_not_told(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    lines = f'File "{link}/export-head/src/a.py"\n{real}/export-head\n{tmp_path}/other/b.py'
    told = failure("It", ran(code=1, stderr=lines.encode()), ARGV, LIMITS)
    assert told is not None
    shown = from_the_export(told, link)
    assert shown.detail[1:] == ('File "src/a.py"', ".", f"{tmp_path}/other/b.py")
    assert shown.reason == told.reason


def test_the_line_of_a_server_runs_in_a_shell() -> None:
    argv = ("serve", "--port={port}", "a b{port}", "", "$(x)")
    assert server_line(argv) == "$ serve --port=$PORT 'a b'$PORT '' '$(x)'"
