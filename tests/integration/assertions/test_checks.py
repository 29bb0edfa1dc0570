"""`gateval.checks`: alone in a bare interpreter, and what a function may return."""

from __future__ import annotations

import ast
import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gateval.checks
from gateval.assertions.assess import assess
from gateval.checks import Result, Trial, check
from gateval.domain.trials.trial import Answer, Assessment
from tests.helpers.own_checks import runner, with_files
from tests.helpers.trials import JUDGE, called, fixture, said

SOURCE = Path(gateval.checks.__file__)


def test_it_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse(SOURCE.read_text("utf-8"), feature_version=(3, 8))
    names = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert names <= set(sys.stdlib_module_names)
    assert not {"pydantic", "gateval"} & names


def test_a_bare_interpreter_runs_it(tmp_path: Path) -> None:
    package = tmp_path / "gateval"
    package.mkdir()
    shutil.copy(SOURCE, package)
    (package / "__init__.py").touch()
    (tmp_path / "own.py").write_text(
        "from gateval.checks import check\n@check\ndef f(trial):\n    print('x')\n    return 0.5\n"
    )
    code = "import sys; sys.path[:0] = ['.']; from gateval.checks import main; main('own.py', 'f')"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=tmp_path,
        input=json.dumps({"version": 1, "output": "a"}).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == {"score": 0.5}
    assert done.stderr == b"x\n"


def test_a_check_stays_a_function_for_tests() -> None:
    @check
    def is_short(trial: Trial) -> Result:
        return Result(score=0.5, reason="so so", steps=[1])

    assert is_short(Trial(output="x")).score == 0.5


def test_calls_leave_out_what_was_refused() -> None:
    call = {"number": 2, "kind": "tool_call", "tool": "refund"}
    trial = Trial(output="", steps=[call, {**call, "refused": True}, {**call, "tool": "other"}])
    assert trial.calls("refund") == [call]


HEAD = "from gateval.checks import Result, check\nimport checks.words\n"


def assessed(folder: Path, body: str, answer: Answer, **options: Any) -> Assessment:
    (folder / "checks").mkdir(exist_ok=True)
    (folder / "checks" / "words.py").write_text("KIND = 'please'\n")
    (folder / "checks" / "own.py").write_text(f"{HEAD}\n{body}\n")
    asked = {"type": "python", "function": "checks/own.py::f", **options}
    asked["interpreter"] = [sys.executable, "-S"]

    async def main() -> Assessment:
        async with runner(folder) as checks:
            (found,), _ = await assess(
                with_files(fixture(asked)), answer, None, JUDGE, checks=checks
            )
            return found

    return asyncio.run(main())


DEF = "@check\ndef f(trial):\n    "


@pytest.mark.parametrize(
    ("body", "status", "score"),
    [
        (f"{DEF}return True", "passed", 1),
        (f"{DEF}return False", "failed", 0),
        (f"{DEF}return 0.5", "passed", 0.5),
        (f"{DEF}return 0.4", "failed", 0.4),
        (f"{DEF}return 1", "passed", 1),
        (f"{DEF}return Result(score=0.9, passed=False, reason='no')", "failed", 0.9),
        (f"{DEF}return Result(score=0.1, passed=True)", "passed", 0.1),
        (f"{DEF}print('{{\"score\": 0}}'); return True", "passed", 1),
        (f"{DEF}return checks.words.KIND in trial.output", "passed", 1),
    ],
)
def test_what_a_function_may_return(tmp_path: Path, body: str, status: str, score: float) -> None:
    found = assessed(tmp_path, body, said("please"))
    assert (found.status.value, found.score) == (status, score), found.reason


def test_the_lowest_score_that_passes_can_be_set(tmp_path: Path) -> None:
    found = assessed(tmp_path, f"{DEF}return 0.5", said("a"), minScore=0.6)
    assert found.status.value == "failed"
    assert "`checks/own.py::f` to score at least 0.60, saw 0.50" in found.reason


def test_steps_and_reason_are_told(tmp_path: Path) -> None:
    body = (
        f"{DEF}steps = [step['number'] for step in trial.calls('refund')]\n"
        "    return Result(0, reason=f'{trial.prompt} {trial.vars}\\n\\x1b[0m', steps=steps)"
    )
    found = assessed(tmp_path, body, called("find refund"), vars={"most": 1})
    assert found.steps == (3,)
    assert "saw 0.00: I want a refund. {'most': 1} \\u001b[0m." in found.reason


@pytest.mark.parametrize(
    ("body", "said_of_it"),
    [
        (f"{DEF}return None", "not None"),
        (f"{DEF}return 'yes'", "not 'yes'"),
        (f"{DEF}return float('nan')", "NaN is no JSON number"),
        (f"{DEF}return 1.5", "less than or equal to 1"),
        (f"{DEF}return Result(0, steps=[9])", "names step 9"),
        (f"{DEF}raise ValueError('boom')", "ValueError: boom"),
        ("def f(trial): return True", "no function `f` with @check above it"),
        ("f = 1", "no function `f` with @check above it"),
        ("import numpy_that_is_not_there", "No module named 'numpy_that_is_not_there'"),
        (f"{DEF}import os; os._exit(0)", "it printed nothing"),
    ],
)
def test_what_is_no_answer_is_an_error(tmp_path: Path, body: str, said_of_it: str) -> None:
    found = assessed(tmp_path, body, said("a"))
    assert found.status.value == "error"
    assert found.cause is not None
    assert found.cause.value == "check"
    assert said_of_it in found.reason
