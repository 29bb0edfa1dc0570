"""How a calibration stands: what it is bound to, and when a judge's word counts."""

from __future__ import annotations

import pytest

from gateval.domain.calibration import (
    Agreement,
    Binding,
    CalibrationPhase,
    CalibrationReplay,
    JudgedExample,
    binding_of,
    phase_of,
    show_agreement,
    why_not,
)
from gateval.domain.history.standing import comparison_key
from gateval.domain.manifests.evaluation import Calibration, CalibrationExample, JudgeSpec
from gateval.domain.manifests.gate_config import AgreementPolicy, Policy
from gateval.domain.planning.planner import plan_revision
from gateval.domain.planning.snapshot import GateRules
from gateval.domain.problems import SourceLocation
from tests.helpers.bars import snapshot

JUDGED = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec: {models: [openai/gpt-5]}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: hello}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions: [{type: judge, rubric: Kind?}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: bot}
spec: {targetAgent: bot, fixtures: [hello], judge: {model: openai/gpt-5, calibration: tone}}
"""
TONE = """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: tone}
spec:
  rubric: Kind?
  judgeModels: [openai/gpt-5]
  examples: [{candidateOutput: hello, humanScore: 1}]
"""
BOUND = Binding(model="openai/gpt-5", temperature=0, prompt="p", rubric="r", examples="e")
GOOD = Agreement(true_pass=18, false_pass=2, false_fail=2, true_fail=18)


def calibration(**changed: object) -> Calibration:
    example = CalibrationExample(candidate_output="Done.", human_score=0, human_label="Not asked")
    return Calibration(
        name="tone",
        rubric="Ask why.",
        judge_models=("openai/gpt-5",),
        examples=(example,),
        place=SourceLocation(file="tone.yaml"),
        path="tone.yaml",
        digest="d",
    ).model_copy(update=changed)


def bound(to: Calibration, **spec: object) -> Binding:
    said = JudgeSpec.model_validate({"model": "openai/gpt-5", **spec})
    return binding_of(to, said, prompt="p", script="")


@pytest.mark.parametrize(
    ("now", "what"),
    [
        (bound(calibration(), model="openai/gpt-6"), ["the model"]),
        (bound(calibration(), temperature=1), ["the temperature"]),
        (bound(calibration(rubric="Ask.")), ["the rubric"]),
        (
            bound(calibration(examples=(CalibrationExample(candidate_output="", human_score=0),))),
            ["the examples"],
        ),
        (
            bound(
                calibration(
                    examples=(CalibrationExample(candidate_output="Done.", human_score=0.5),)
                )
            ),
            ["the examples"],
        ),
        (bound(calibration()).model_copy(update={"prompt": "q"}), ["Gateval's prompt for judges"]),
        (bound(calibration()).model_copy(update={"script": "s"}), ["the script of the judge"]),
        (bound(calibration(name="other", digest="other")), []),
        (
            bound(
                calibration(
                    examples=(
                        CalibrationExample(
                            candidate_output="Done.", human_score=0, human_label="Another reason"
                        ),
                    )
                )
            ),
            [],
        ),
    ],
)
def test_what_makes_a_measured_agreement_stale(now: Binding, what: list[str]) -> None:
    before = bound(calibration())
    assert (before.digest == now.digest) is not bool(what)
    phase = phase_of(GOOD, changed=before != now)
    assert phase is (CalibrationPhase.STALE if what else CalibrationPhase.CALIBRATED)


@pytest.mark.parametrize(
    ("found", "phase", "why"),
    [
        (GOOD, CalibrationPhase.CALIBRATED, ""),
        (
            Agreement(missing=4),
            CalibrationPhase.FAILED,
            "it gave a verdict on none of its 4 examples",
        ),
        (
            GOOD.model_copy(update={"missing": 11}),
            CalibrationPhase.STALE,
            "it gave no verdict on 11 of its 51 examples",
        ),
        (GOOD.model_copy(update={"missing": 10}), CalibrationPhase.CALIBRATED, ""),
        (
            Agreement(true_pass=9),
            CalibrationPhase.STALE,
            "people pass every example of it, so it cannot show that it tells good from bad",
        ),
        (
            Agreement(true_fail=1),
            CalibrationPhase.STALE,
            "people fail every example of it, so it cannot show that it tells good from bad",
        ),
        (
            Agreement(true_pass=6, false_pass=4, false_fail=4, true_fail=6),
            CalibrationPhase.STALE,
            "its agreement with people is κ 0.20 (95 % -0.25 to 0.58, 20 examples), below 0.6",
        ),
    ],
)
def test_phases(found: Agreement, phase: CalibrationPhase, why: str) -> None:
    assert phase_of(found) is phase
    assert why_not(found) == why


def test_the_lower_limit_may_be_what_is_asked() -> None:
    few = Agreement(true_pass=9, false_pass=1, false_fail=1, true_fail=9)
    assert why_not(few, 0.6, AgreementPolicy.POINT) == ""
    why = why_not(few, 0.6, AgreementPolicy.LOWER_BOUND)
    assert why == (
        "its agreement with people is κ 0.80 (95 % 0.34 to 0.97, 20 examples), and the lower limit "
        "is below 0.6"
    )
    many = Agreement(true_pass=95, false_pass=5, false_fail=5, true_fail=95)
    assert why_not(many, 0.6, AgreementPolicy.LOWER_BOUND) == ""


def test_a_finding_by_a_judge_holds_while_its_calibration_does() -> None:
    texts = {"bot.yaml": JUDGED, "tone.yaml": TONE}
    changed = {"bot.yaml": JUDGED, "tone.yaml": TONE.replace("humanScore: 1", "humanScore: 0")}
    keys = []
    for files in (texts, texts, changed):
        plan = plan_revision(snapshot(files), ["bot"], (), GateRules(Policy(), "", None))
        keys.append(comparison_key(plan, plan.evals[0], "hello"))
    assert keys[0] == keys[1] != keys[2]


def test_the_figures_of_a_replay() -> None:
    said = [(1, 0.9), (1, 0.5), (1, 0.49), (0.5, 1), (0.2, 0.7), (0, 0.1), (0, None)]
    examples = [
        JudgedExample(number=number, human=human, score=score)
        for number, (human, score) in enumerate(said, 1)
    ]
    replay = CalibrationReplay(calibration="tone", binding=BOUND, examples=tuple(examples))
    found = replay.agreement
    assert found == Agreement(true_pass=3, false_pass=1, false_fail=1, true_fail=1, missing=1)
    assert (found.scored, found.prevalence, found.sensitivity) == (6, 4 / 6, 3 / 4)
    assert (found.specificity, found.raw, found.baseline) == (1 / 2, 4 / 6, 4 / 6)
    assert found.kappa == pytest.approx(0.25)
    assert [one.number for one in replay.disagreements] == [3, 5]
    assert show_agreement(found).startswith("κ 0.25 (95 % ")


def test_figures_that_do_not_exist_are_none() -> None:
    nothing = Agreement(missing=2)
    figures = (nothing.prevalence, nothing.sensitivity, nothing.specificity, nothing.baseline)
    assert figures == (None, None, None, None)
    assert (nothing.kappa, nothing.raw, nothing.interval) == (0, 0, (-1, 1))
    assert Agreement(true_pass=1).specificity is None
    assert Agreement(true_fail=1).sensitivity is None
