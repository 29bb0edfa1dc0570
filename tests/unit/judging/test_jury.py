"""Several judges: how they come to one verdict, when they are asked again, who counts."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Mapping, Sequence

import pytest

from gateval.assertions.assess import assess
from gateval.domain.manifests.evaluation import Calibration, Escalation, JudgeSpec, JuryRule
from gateval.domain.trials.jury import Vote, decided, jury_assessment
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trial import Answer, Assessment, Cause, Side
from gateval.judging.calibrating import replay
from gateval.judging.judge import Judge
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from tests.helpers.calibrations import verdict
from tests.helpers.scripted_calls import outage, says
from tests.helpers.trials import fixture

ANSWER = "All of it is rude"
JURY = JudgeSpec(models=("x/a", "y/b", "z/c"))
Turn = float | str | ModelCallError


class EachItsOwn:
    """Model calls in which each model has its own turns: a score, a text, or a failure."""

    def __init__(self, turns: Mapping[str, Sequence[Turn]]) -> None:
        self._turns = {name: deque(own) for name, own in turns.items()}
        self.asked: list[str] = []

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        del request, side
        self.asked.append(model)
        own = self._turns[model]
        turn = own.popleft() if len(own) > 1 else own[0]
        if isinstance(turn, ModelCallError):
            raise turn
        return says(turn if isinstance(turn, str) else verdict(turn, ANSWER))


def judged(
    turns: Mapping[str, Sequence[Turn]], spec: JudgeSpec = JURY
) -> tuple[Assessment, list[str]]:
    calls = EachItsOwn(turns)
    one = fixture({"type": "judge", "rubric": "Is it kind?"})
    answer = Answer(output=ANSWER, seconds=0)
    (found,), _ = asyncio.run(assess(one, answer, Judge(calls), spec))
    return found, calls.asked


@pytest.mark.parametrize(
    ("rule", "scores", "passed", "score"),
    [
        ("median", (0.2, 0.5, 0.9), True, 0.5),
        ("median", (0.2, 0.4, 0.9), False, 0.4),
        ("median", (0.2, 0.9), False, 0.2),
        ("majority", (0.2, 0.6, 0.8), True, 0.7),
        ("majority", (0.2, 0.4, 0.9), False, 0.3),
        ("majority", (0.2, 0.4, 0.9, 0.9), False, 0.3),
        ("unanimous", (0.6, 0.9, 1.0), True, 0.6),
        ("unanimous", (0.4, 0.9, 1.0), False, 0.4),
    ],
)
def test_each_rule(rule: str, scores: tuple[float, ...], passed: bool, score: float) -> None:
    found = decided(JuryRule(rule), [Vote(one >= 0.5, one) for one in scores])
    assert found.passed is passed
    assert found.score == pytest.approx(score)


def test_a_jury_says_who_said_what_and_keeps_the_proof_of_its_side() -> None:
    found, asked = judged({"x/a": [0.9], "y/b": [0.3], "z/c": [0.4]}, JURY.replace(split=0.7))
    assert (found.failed, found.score, sorted(asked)) == (True, 0.4, ["x/a", "y/b", "z/c"])
    assert found.reason == "Fails with 0.40 (x/a 0.90, y/b 0.30, z/c 0.40): Not kind."
    assert found.verdict is not None
    assert found.steps == (2,)
    assert [one.supported for one in found.verdict.violations] == [True]
    assert [one.score for one in found.verdict.jurors] == [0.9, 0.3, 0.4]
    assert not found.verdict.split


def test_a_split_jury_is_asked_once_more_and_all_votes_count() -> None:
    turns = {"x/a": [0.9, 0.3], "y/b": [0.3, 0.2], "z/c": [0.6, 0.6]}
    found, asked = judged(turns)
    assert (len(asked), found.asked, found.failed, found.score) == (6, 2, True, 0.3)
    assert found.verdict is not None
    assert found.verdict.split
    assert "; split)" in found.reason


def test_a_split_jury_keeps_its_first_votes_where_the_budget_ends() -> None:
    over = ModelCallError(ModelCallFault.BUDGET, "The budget is used up.")
    found, _ = judged({"x/a": [0.9, 0.9], "y/b": [0.3, over], "z/c": [0.6, 0.6]})
    assert (found.passed, found.score, found.asked) == (True, 0.6, 1)
    assert found.verdict is not None
    assert found.verdict.split


def test_a_spread_of_just_as_much_as_is_written_is_no_split() -> None:
    _, asked = judged({"x/a": [0.9], "y/b": [0.5], "z/c": [0.6]})
    assert len(asked) == 3


@pytest.mark.parametrize(
    "turn", [outage(), "I like it.", json.dumps({"score": 1}), verdict(0.1, "is nowhere")]
)
def test_a_juror_without_a_verdict_that_counts_decides_nothing_for_either_side(turn: Turn) -> None:
    found, _ = judged({"x/a": [0.9], "y/b": [0.8], "z/c": [turn]})
    assert (found.status, found.cause) == ("error", Cause.JUDGE)
    assert "z/c gives no verdict that counts" in found.reason
    assert found.verdict is not None
    out = {one.model for one in found.verdict.jurors if one.outage}
    assert out == ({"z/c"} if isinstance(turn, ModelCallError) else set())
    whole = jury_assessment("judge", JURY, found.verdict.jurors, {"z/c"})
    assert (whole.passed, whole.score) == (True, 0.8), "what is left, had it been left out"
    most = jury_assessment("judge", JURY, found.verdict.jurors, {"z/c", "y/b"})
    assert most.cause is Cause.JUDGE, "one of three is no jury"


def test_a_stronger_judge_is_asked_in_doubt_alone_and_its_word_counts() -> None:
    spec = JudgeSpec(model="x/a", escalate=Escalation(model="y/b", band=(0.3, 0.7)))
    for first, then, asked in ((0.8, 0.8, 1), (0.5, 0.1, 2), (0.7, 0.1, 2), (0.2, 0.2, 1)):
        found, models = judged({"x/a": [first], "y/b": [0.1]}, spec)
        assert (found.score, models) == (then, ["x/a", "y/b"][:asked])


def test_a_calibration_measures_the_jury_as_it_decides_and_each_juror_alone() -> None:
    calibration = Calibration.model_validate(
        {
            "name": "tone",
            "rubric": "Is it kind?",
            "judge_models": ["x/a"],
            "examples": [{"candidate_output": ANSWER, "human_score": 0.0}],
            "place": {"file": "tone.yaml", "line": 1},
            "path": "tone.yaml",
            "digest": "0" * 64,
        }
    )
    calls = EachItsOwn({"x/a": [0.9, 0.3], "y/b": [0.3, 0.2], "z/c": [0.6, 0.6]})
    found = asyncio.run(replay(calibration, JURY, Judge(calls)))
    (example,) = found.examples
    assert (example.score, example.jurors, example.split) == (0.3, (0.9, 0.3, 0.6), True)
    assert found.binding.judge.terms == JURY.terms
    assert len(calls.asked) == 6
    spec = JudgeSpec(model="x/a", escalate=Escalation(model="y/b", band=(0.3, 0.7)))
    found = asyncio.run(replay(calibration, spec, Judge(EachItsOwn({"x/a": [0.9], "y/b": [0.1]}))))
    assert (found.examples[0].score, found.examples[0].jurors) == (0.9, (0.9, 0.1))


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ({"models": ["x/a"]}, "at least two"),
        ({"models": ["x/a", "x/a"]}, "each named once"),
        ({"models": ["x/a", "y/b"], "model": "x/a"}, "neither `model` nor `escalate`"),
        ({"model": "x/a", "rule": "majority"}, "those of a jury"),
        ({"model": "x/a", "split": 0.0}, "those of a jury"),
        ({"model": "x/a", "escalate": {"model": "x/a", "band": [0.3, 0.7]}}, "another model"),
        ({"model": "x/a", "escalate": {"model": "y/b", "band": [0.7, 0.3]}}, "from a lower"),
    ],
)
def test_what_is_no_judge(written: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        JudgeSpec.model_validate(written)


def test_one_judge_is_written_as_it_was_before_there_were_juries() -> None:
    one = JudgeSpec(model="x/a", allow_self=False)
    assert set(one.model_dump()) == {"model", "temperature", "calibration", "min_agreement"}
    assert "split" in JURY.replace(split=0.0).model_dump()


def test_a_judge_that_cannot_determine_it_neither_passes_nor_fails_and_is_counted_apart() -> None:
    unclear = json.dumps({**json.loads(verdict(0.9)), "cannot_determine": True})
    found, asked = judged({"x/a": [unclear]}, JudgeSpec(model="x/a"))
    assert (found.status, found.cause, asked) == ("error", Cause.JUDGE, ["x/a"])
    assert found.reason.startswith("The judge cannot determine it: ")
    found, _ = judged({"x/a": [unclear], "y/b": [0.9], "z/c": [0.9]})
    assert "x/a gives no verdict that counts" in found.reason
    assert found.verdict is not None
    assert found.verdict.undetermined
