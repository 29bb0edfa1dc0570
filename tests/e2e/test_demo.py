"""`make demo` shows what it promises: one of everything a reviewer can meet, and nothing leaks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.demo import build, environment, gate
from gateval.domain.decision.decision import Report, make_report
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.trials.trial import Outcome, Side, Trial, Violation
from gateval.domain.verdicts import GateVerdict
from gateval.render.stage import load_results
from tests.helpers import stored
from tests.helpers.command import candidate_processes
from tests.helpers.forked import run_forked
from tests.helpers.pictures import picture_of_comment, picture_of_page

ROOT = Path(__file__).parents[2]
CANARY = "canary-5f1c0e7a9b3d"
KEYS = {f"{name}_API_KEY": CANARY for name in ("OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER")}


class Shown(NamedTuple):
    """What a run of the gate left behind."""

    status: int
    printed: str
    results: Path
    report: Report

    @property
    def comment(self) -> str:
        """The comment on the pull request."""
        return (self.results / "comment.md").read_text("utf-8")

    def change(self, name: str) -> FixtureChange:
        """How a fixture moved."""
        changes = {
            fixture.fixture: fixture.change
            for compared in self.report.comparison.evals
            for fixture in compared.fixtures
        }
        return changes[name]

    def trial(self, name: str, side: Side) -> Trial:
        """The first trial of a fixture on one side."""
        return next(
            trial
            for trial in self.report.results.trials
            if (trial.key.fixture, trial.key.side) == (name, side)
        )


def _environment(tmp: Path) -> dict[str, str]:
    return environment(tmp) | {"TMPDIR": str(tmp), **KEYS}


def _shown(done: subprocess.CompletedProcess[str], tmp: Path) -> Shown:
    printed = done.stdout + done.stderr
    found = list(tmp.glob("*/shop/.gateval/results/*/results.v1.json"))
    assert len(found) == 1, printed
    report = make_report(load_results(found[0].read_bytes()))
    return Shown(done.returncode, printed, found[0].parent, report)


def _demo(tmp: Path) -> Shown:
    """Run the demo from a folder that has nothing to do with it."""
    env = _environment(tmp) | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"],
        cwd=tmp, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return _shown(done, tmp)


def _check(tmp: Path) -> Shown:
    """Run the gate on the demo's repository, with provider keys in its environment."""
    workspace = tmp / "workspace"
    workspace.mkdir()
    repository = build(workspace)
    arguments, rights = ("check", "--base", "main"), gate()[0] == sys.executable
    done = run_forked(arguments, repository, _environment(tmp), seconds=60, rights=rights)
    return _shown(done, tmp)


def _judged(trial: Trial) -> tuple[Violation, ...]:
    (verdict,) = [each.verdict for each in trial.assessments if each.verdict is not None]
    return verdict.violations


def test_the_demo_shows_one_of_everything(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "check").mkdir()
    shown = _demo(tmp_path / "demo")
    assert shown.status == 0, shown.printed
    assert "Exit status: 1: the gate would fail this pull request." in shown.printed
    assert f"{shown.comment}\nAnd this is where all of it stands:\n" in shown.printed
    assert str(shown.results / "comment.md") in shown.printed
    assert "Does not answer any more" in shown.printed
    assert shown.report.decision.verdict is GateVerdict.FAIL
    assert shown.report.decision.exit_code == 1
    _shows_a_regression_with_checked_evidence(shown)
    _shows_an_improvement_and_what_is_unchanged(shown)
    _shows_a_candidate_that_does_not_start(shown)
    _writes_the_same_comment_again_and_no_key(shown, _check(tmp_path / "check"))
    assert candidate_processes(tmp_path) == []
    _is_what_the_pictures_of_the_readme_show(shown, tmp_path)


def _is_what_the_pictures_of_the_readme_show(shown: Shown, folder: Path) -> None:
    texts = (
        picture_of_comment(shown.results / "comment.md", "comment", folder, height=880),
        picture_of_page(shown.results / "report.html", "report", folder, width=1000, height=760),
    )
    for text in texts:
        assert "refund-must-clarify passed before and fails now" in text
        assert str(folder) not in text


def _shows_a_regression_with_checked_evidence(shown: Shown) -> None:
    assert shown.change("refund-must-clarify") is FixtureChange.REGRESSED
    assert shown.trial("refund-must-clarify", Side.BASE).outcome is Outcome.PASS
    trial = shown.trial("refund-must-clarify", Side.HEAD)
    real, made_up = _judged(trial)
    assert trial.trace is not None
    assert real.supported
    step = trial.trace.step(real.evidence_step)
    assert step is not None
    assert real.quote in step.text
    assert not made_up.supported
    assert made_up.quote not in trial.model_dump_json(exclude={"assessments"})
    assert real.quote in shown.comment
    assert f"Quote found in step {real.evidence_step}" in shown.comment
    assert made_up.quote in shown.comment
    assert f"Quote not found in step {made_up.evidence_step}; does not count" in shown.comment


def _shows_an_improvement_and_what_is_unchanged(shown: Shown) -> None:
    assert shown.change("tutor-fraction") is FixtureChange.IMPROVED
    assert shown.trial("tutor-fraction", Side.BASE).outcome is Outcome.FAIL
    for name in ("tutor-add", "tutor-multiply", "tutor-exercise", "where-is-my-order"):
        assert shown.change(name) is FixtureChange.UNCHANGED
        assert shown.trial(name, Side.HEAD).outcome is Outcome.PASS
    assert "tutor-fraction" in shown.comment
    assert "tutor-add" in shown.comment


def _shows_a_candidate_that_does_not_start(shown: Shown) -> None:
    trial = shown.trial("shipping-light-parcel", Side.HEAD)
    assert trial.outcome is Outcome.FAIL
    assert shown.trial("shipping-light-parcel", Side.BASE).outcome is Outcome.PASS
    assert any("No module named 'zones'" in line for line in trial.detail)
    assert "No module named 'zones'" in shown.comment
    assert "head gives no answer where base does" in shown.comment.lower()


def _writes_the_same_comment_again_and_no_key(first: Shown, second: Shown) -> None:
    assert second.status == 1, second.printed
    timed = re.compile(r"[0-9.]+ s\b")
    assert timed.sub("", first.comment) == timed.sub("", second.comment)
    for shown in (first, second):
        assert CANARY not in shown.printed
        for name, text in stored.written(shown.results).items():
            assert CANARY not in text, name
    assert json.loads((second.results / "decision.v1.json").read_text("utf-8"))["exit_code"] == 1


@pytest.mark.parametrize("alone", [False, True], ids=["Ctrl-C", "the gate alone"])
def test_an_interrupted_demo_says_so_and_leaves_nothing_running(
    tmp_path: Path, *, alone: bool
) -> None:
    env = environment(tmp_path) | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    demo = subprocess.Popen(
        [sys.executable, "-m", "examples.demo"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert demo.stdout is not None
    printed = ""
    while "Preparing" not in printed:
        line = demo.stdout.readline()
        assert line, printed
        printed += line
    if alone:
        (gate,) = _children(demo.pid)
        os.kill(gate, signal.SIGINT)
    else:
        os.killpg(demo.pid, signal.SIGINT)  # as a terminal does
    printed += demo.communicate(timeout=60)[0]

    assert demo.returncode == 130, printed
    assert printed.endswith("The demo was interrupted before its end.\n")
    assert "Traceback" not in printed
    assert candidate_processes(tmp_path) == []


def _children(parent: int) -> list[int]:
    return [
        int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    ]
