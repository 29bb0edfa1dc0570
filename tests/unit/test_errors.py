"""The tree of errors and its exit codes."""

from __future__ import annotations

import inspect

import pytest

from gateval import errors
from gateval.app.guard import guarded
from gateval.domain.problems import InvalidManifests, Problem, SourceLocation

TREE = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, errors.GatevalError)
]


def test_the_drawing_shows_every_error_with_its_code() -> None:
    drawing = errors.__doc__ or ""
    for error in TREE:
        line = next(line for line in drawing.splitlines() if f" {error.__name__} " in line)
        assert f" {error.exit_code} " in line


def test_no_error_passes_or_fails_the_gate() -> None:
    assert all(error.exit_code in {2, 3, 130} for error in TREE)


def raiser(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (
            errors.UsageError("This is wrong.", hint="Do that."),
            2,
            "gateval: This is wrong.\n  Do that.\n",
        ),
        (errors.RepositoryError("git is away."), 3, "gateval: git is away.\n"),
        (
            InvalidManifests(
                [Problem(place=SourceLocation(file="a.yaml", line=3), path="spec", message="no.")]
            ),
            2,
            "a.yaml:3:1: spec: no.\ngateval: 1 problem in the manifests.\n",
        ),
        (KeyboardInterrupt(), 130, "gateval: interrupted.\n"),
        (
            OSError(28, "No space left on device", "out.json"),
            3,
            "gateval: No space left on device: out.json\n",
        ),
        (
            ExceptionGroup("many", [errors.EvaluationError("The disk is full.")]),
            3,
            "gateval: The disk is full.\n",
        ),
    ],
)
def test_errors_become_text_and_exit_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(lambda: raiser(error)) == code
    assert capsys.readouterr().err == said


def test_a_fault_of_ours_says_so_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: raiser(ZeroDivisionError("division by zero"))) == 3
    said = capsys.readouterr().err
    assert "fault in Gateval itself (ZeroDivisionError: division by zero)" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "error",
    [
        errors.UsageError("bad\n::set-output name=x::y"),
        OSError(36, "File name too long", "bad\n::set-output name=x::y"),
        OSError("bad\n::set-output name=x::y"),
        ValueError("bad\n::set-output name=x::y"),
        ExceptionGroup("one", [ValueError("bad\n::set-output name=x::y")]),
    ],
)
def test_workflow_commands_in_errors_do_not_reach_the_log(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    guarded(lambda: raiser(error))
    assert "\n::" not in capsys.readouterr().err
