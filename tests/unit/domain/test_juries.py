"""A juror whose provider was out of reach: on which side it counts, and for what."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from gateval.adapters.progress import show_progress
from gateval.domain.history.recorded import mark_of
from gateval.domain.manifests.evaluation import JudgeSpec
from gateval.domain.results.juries import absence_warnings, without_absent_jurors
from gateval.domain.results.results import Results
from gateval.domain.results.trial_verdict import reassessed
from gateval.domain.trials.jury import jury_assessment
from gateval.domain.trials.trial import Cause, Juror, Side, Trial, Verdict
from gateval.events import RunFinished, RunStarted, TrialFinished
from tests.helpers.reports import make

JURY = JudgeSpec(models=("x/a", "y/b", "z/c"))
ROWS = """
    support-eval refund base:pass,pass head:pass,pass
    support-eval greets base:pass,pass head:pass,pass
"""


def juror(model: str, said: str) -> Juror:
    """A juror that gives a score, is out of reach, or says what nobody can use."""
    if said in {"out", "odd"}:
        return Juror(model=model, outage=said == "out", why="No answer.", cause=Cause.JUDGE)
    score = float(said)
    verdict = Verdict(score=score, confidence=1, summary="Said.", model=model)
    return Juror(model=model, passed=score >= 0.5, score=score, verdict=verdict)


def judged(said: dict[str, str], spec: JudgeSpec = JURY) -> Results:
    """Results in which a jury judged each trial of `refund` so: three words for `head 2`."""
    results = make(ROWS).results
    planned = results.plan.evals[0].replace(judge=spec)
    plan = results.plan.replace(evals=(planned, *results.plan.evals[1:]))

    def of(trial: Trial) -> Trial:
        words = said.get(f"{trial.key.side} {trial.key.repetition}", "0.9 0.8 0.2")
        if trial.key.fixture != "refund":
            return trial
        jurors = [juror(*one) for one in zip(spec.models, words.split(), strict=True)]
        found = jury_assessment(trial.assessments[0].type, spec, jurors)
        every = (found, *trial.assessments[1:])
        return reassessed(trial, planned.fixture("refund"), every, planned.scoring)

    return results.replace(plan=plan, trials=tuple(map(of, results.trials)))


def passed(trials: tuple[Trial, ...]) -> dict[str, bool | None]:
    return {
        f"{one.key.side} {one.key.repetition}": one.passed
        for one in trials
        if one.key.fixture == "refund"
    }


ALL = {f"{side} {number}": True for side in Side for number in (1, 2)}


def test_progress_counts_a_trial_as_the_rest_of_its_jury_judged_it() -> None:
    results = judged({"head 2": "0.9 0.8 out", "base 1": "0.9 odd out"})
    stream = io.StringIO()
    with show_progress(stream, plain=True) as listen:
        listen(RunStarted(plan=results.plan))
        for trial in results.trials:
            listen(TrialFinished(trial=trial))
        listen(RunFinished(finished=len(results.trials), planned=len(results.trials)))
    many = len(results.trials)
    assert stream.getvalue().splitlines()[-1].endswith(f": {many - 1} pass, 1 error")


def test_who_was_out_of_reach_in_one_trial_is_left_out_on_both_sides() -> None:
    """Of two that differ it alone would decide, whatever it said elsewhere."""
    results = judged({"head 2": "0.9 0.8 out", "base 1": "0.4 0.8 0.9"})
    assert passed(results.trials) == {**ALL, "head 2": None}
    found = without_absent_jurors(results.plan, results.trials)
    assert passed(found) == {**ALL, "base 1": None}
    reasons = [one.assessments[0].reason for one in found if one.key.fixture == "refund"]
    assert sum("out of reach: z/c" in one for one in reasons) == 3
    assert sum("z/c was out of reach" in one and "would decide" in one for one in reasons) == 1
    assert "z/c was out of reach" in " ".join(absence_warnings(results.plan, results.trials))
    marks = {
        f"{one.key.fixture} {one.key.side} {one.key.repetition}": mark_of(one) for one in found
    }
    assert marks["refund head 2"] == "x", "a stored trial is one of the whole jury"
    assert marks["greets head 2"] == "p"


@pytest.mark.parametrize(
    ("words", "spec"),
    [
        ("0.9 0.8 odd", JURY),  # it was asked, and a run that silences it would choose its judges
        ("0.9 out out", JURY),
        ("0.9 0.8 out", JURY.replace(calibration="tone")),
        ("0.9 0.8 out", JURY.replace(min_agreement=0.6)),
    ],
)
def test_elsewhere_the_trial_stays_an_error(words: str, spec: JudgeSpec) -> None:
    results = judged({"head 2": words}, spec)
    assert passed(without_absent_jurors(results.plan, results.trials)) == {**ALL, "head 2": None}


def test_stored_trials_of_the_whole_jury_are_not_compared_with_those_of_a_part() -> None:
    results = judged({"head 2": "0.9 0.8 out"})
    planned = results.plan.evals[0]
    stored = planned.model_validate(
        {**planned.model_dump(), "stored": [{"fixture": "refund", "marks": "pp"}]}
    )
    plan = results.plan.replace(evals=(stored, *results.plan.evals[1:]))
    assert without_absent_jurors(plan, results.trials) is results.trials


def test_a_whole_jury_is_left_as_it_is() -> None:
    results = judged({})
    assert without_absent_jurors(results.plan, results.trials) is results.trials


def test_a_run_without_a_jury_imports_nothing_of_one() -> None:
    rooms = "engine.run, domain.decision.decision, render.report.usage, domain.history.recorded"
    code = f"import sys\nimport {', '.join(f'gateval.{one}' for one in rooms.split(', '))}\n"
    code += "print([one for one in sys.modules if 'jur' in one])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
