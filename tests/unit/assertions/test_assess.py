"""The driver: order, errors as data, nothing lost, nothing silently passed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateval.assertions.assess import assess
from gateval.assertions.evidence import Evidence
from gateval.assertions.text import Contains
from gateval.domain.manifests.fixture import AssertionSpec
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import STEPS_LIMIT, Step, StepKind, Trace
from gateval.domain.trials.trial import Answer, Assessment, Cause
from gateval.judging.judge import Judge
from tests.helpers.scripted_calls import ScriptedCalls, outage, says
from tests.helpers.trials import JUDGE, PLACE, assessed, called, fixture, said, trace

GOOD = json.dumps(
    {
        "score": 1,
        "confidence": 0.9,
        "summary": "Fine.",
        "violations": [],
        "what_would_raise_score": "",
    }
)


def test_assessments_stand_in_the_fixtures_order_and_the_judges_tokens_are_summed() -> None:
    asserted = fixture(
        {"type": "judge", "rubric": "Be polite."},
        {"type": "contains", "value": "hello"},
        {"type": "toolCalled", "tool": "t"},
        {"type": "judge", "rubric": "Be brief."},
        {"type": "notContains", "value": "hello"},
    )
    judge = Judge(ScriptedCalls([says(GOOD, tokens=(10, 5)), says(GOOD, tokens=(100, 50))]))
    found, usage = asyncio.run(assess(asserted, said("hello"), judge, JUDGE))
    assert [one.index for one in found] == [0, 1, 2, 3, 4]
    assert [one.type for one in found] == [
        "judge", "contains", "toolCalled", "judge", "notContains",
    ]  # fmt: skip
    assert [one.status.value for one in found] == ["passed", "passed", "error", "passed", "failed"]
    assert usage == Usage(input_tokens=110, output_tokens=55)


def test_without_a_judge_nothing_is_spent() -> None:
    _, usage = asyncio.run(
        assess(fixture({"type": "contains", "value": "x"}), said("x"), None, JUDGE)
    )
    assert usage == Usage()


def test_tokens_of_a_judge_that_gave_no_verdict_are_not_lost() -> None:
    judge = Judge(ScriptedCalls([says("no", tokens=(10, 5)), says("no", tokens=(10, 5))]))
    asserted = fixture({"type": "judge", "rubric": "x"})
    (found,), usage = asyncio.run(assess(asserted, said("x"), judge, JUDGE))
    assert (found.status.value, found.cause) == ("error", Cause.JUDGE)
    assert usage.total == 30


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "toolCalled", "tool": "t"},
        {"type": "toolNotCalled", "tool": "t"},
        {"type": "toolSequence", "tools": ["t"]},
        {"type": "toolArguments", "tool": "t", "arguments": {}},
    ],
)
def test_without_a_trace_tool_calls_are_unknown_not_absent(assertion: dict[str, Any]) -> None:
    found = assessed(assertion, said("done"))
    assert (found.status.value, found.cause, found.score) == ("error", Cause.GATE, None)
    assert found.reason == (
        "This candidate gave no trace, so its tool calls are unknown; let it call models through "
        "the gateway or print `trace`."
    )


def test_a_trace_without_calls_is_a_trace() -> None:
    assert assessed({"type": "toolNotCalled", "tool": "t"}, called("")).status.value == "passed"


def test_in_a_trace_that_was_cut_tool_calls_are_unknown() -> None:
    steps = tuple(Step(number=n + 1, kind=StepKind.USER) for n in range(STEPS_LIMIT))
    cut = Answer(output="x", trace=Trace(steps=steps), seconds=1)
    found = assessed({"type": "toolNotCalled", "tool": "t"}, cut)
    assert found.status.value == "error"
    assert "cut at 2,000 steps" in found.reason


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("checks", {}, "There is no assertion type `checks`."),
        ("contains", {}, "`contains` has options it cannot use: value: Field required."),
        ("contains", {"value": 4}, "options it cannot use: value"),
        ("contains", {"value": "x", "ignore_case": True}, "options it cannot use: ignore_case"),
        ("regex", {"pattern": "("}, "options it cannot use: pattern"),
        ("latency", {"maxSeconds": "1"}, "options it cannot use: maxSeconds"),
        ("judge", {"rubric": "x", "kind": "pairwise"}, "options it cannot use: kind"),
        ("judge", {"rubric": "x"}, "`judge` needs a judge and none was set up."),
    ],
)
def test_what_cannot_be_evaluated_is_an_error_and_says_why(
    kind: str, options: dict[str, Any], reason: str
) -> None:
    spec = AssertionSpec(type=kind, options=options, place=PLACE)
    asserted = fixture({"type": "contains", "value": "x"}).model_copy(
        update={"assertions": (spec,)}
    )
    (found,), _ = asyncio.run(assess(asserted, said("x"), None, JUDGE))
    assert (found.status.value, found.cause, found.score) == ("error", Cause.GATE, None)
    assert found.type == kind
    assert reason in found.reason


class Broken(Contains):
    """An assertion with a fault of ours."""

    def assess(self, evidence: Evidence) -> Assessment:
        raise ZeroDivisionError("oh")


def test_an_assertion_that_breaks_is_an_error_with_its_type() -> None:
    asserted = fixture({"type": "contains", "value": "x"}, {"type": "contains", "value": "x"})
    known = {"contains": Broken}
    found, _ = asyncio.run(assess(asserted, said("x"), None, JUDGE, known=known))
    assert [one.index for one in found] == [0, 1]
    for one in found:
        assert (one.status.value, one.cause) == ("error", Cause.GATE)
        assert one.reason == "`contains` broke with ZeroDivisionError: oh; please report it."


def test_a_judge_that_is_down_is_its_own_cause() -> None:
    judge = Judge(ScriptedCalls([outage()]))
    found = assessed({"type": "judge", "rubric": "x"}, said("x"), judge)
    assert (found.status.value, found.cause) == ("error", Cause.JUDGE)
    assert found.reason == "The judge could not be asked: The provider is down."


def test_step_numbers_are_those_of_the_recorded_trace() -> None:
    answer = Answer(output="bye", trace=trace("user: a", "call t", "says: bye"), seconds=1)
    assert assessed({"type": "contains", "value": "bye"}, answer).steps == (3,)
    unlike = answer.model_copy(update={"output": "good bye"})
    assert assessed({"type": "contains", "value": "bye"}, unlike).steps == (4,)


def test_a_pattern_made_to_be_slow_holds_up_no_other_trial() -> None:
    asserted = fixture({"type": "regex", "pattern": ".{0,900}Z"})

    async def others() -> int:
        task = asyncio.ensure_future(assess(asserted, said("ab" * 10_000), None, JUDGE))
        turns = 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        (found,), _ = task.result()
        assert found.status.value == "failed"
        return turns

    assert asyncio.run(others()) > 100
