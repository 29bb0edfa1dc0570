"""Numbers that were measured and do not say what they seem to: models that did not answer, claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gateval.domain.decision.decision import counted, make_report
from gateval.domain.results.doubts import (
    without_common_refusals,
    without_mere_claims,
)
from gateval.domain.results.results import Results
from gateval.domain.trials.model_call import CallsMade, RefusedBy
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial
from gateval.domain.verdicts import GateVerdict, ReasonCode
from tests.helpers.reports import edit_plan, make_results

FIVE = ",".join(["pass"] * 5)
BOTH = f"a-eval f base:{FIVE} head:{FIVE}"
FAIL, INCONCLUSIVE, PASS = GateVerdict.FAIL, GateVerdict.INCONCLUSIVE, GateVerdict.PASS

FIRST, SECOND, TOOL = "openai/first", "openai/second", "openai/tool"


def edit_evals(results: Results, **fields: Any) -> Results:
    evals = tuple(one.model_copy(update=fields) for one in results.plan.evals)
    return edit_plan(results, evals=evals)


def edit_trials(results: Results, change: Callable[[Trial], dict[str, Any]]) -> Results:
    trials = tuple(one.model_copy(update=change(one)) for one in results.trials)
    return results.model_copy(update={"trials": trials})


def answered(head: list[str], models: tuple[str, ...] = (FIRST, SECOND)) -> Results:
    """The models that answered in head's trials, one after the other; on base the first does."""

    def change(trial: Trial) -> dict[str, Any]:
        said = head[trial.key.repetition - 1] if trial.key.side is Side.HEAD else FIRST
        return {"trace": Trace(models=tuple(said.split())), "output": "Hello."}

    results = edit_trials(make_results(BOTH), change)
    agents = tuple(one.model_copy(update={"models": models}) for one in results.plan.agents)
    return edit_plan(results, agents=agents)


@pytest.mark.parametrize(
    ("head", "models", "found"),
    [
        pytest.param([FIRST] * 5, (FIRST, SECOND), None, id="the first"),
        pytest.param([SECOND, *[FIRST] * 4], (FIRST, SECOND), None, id="a fifth may be another's"),
        pytest.param([SECOND, SECOND, *[FIRST] * 3], (FIRST, SECOND), (2, 5), id="more may not"),
        pytest.param([f"{FIRST} {SECOND}"] * 5, (FIRST, SECOND), (5, 5), id="both in one trial"),
        pytest.param([SECOND, "", "", "", FIRST], (FIRST, SECOND), (1, 2), id="of those answered"),
        pytest.param([""] * 5, (FIRST, SECOND), None, id="none was asked"),
        pytest.param([TOOL] * 5, (FIRST, SECOND), None, id="what it uses stands in for nobody"),
        pytest.param([SECOND] * 5, (FIRST,), None, id="an Agent with one model"),
        pytest.param([FIRST] * 5, (FIRST, FIRST), None, id="the same twice"),
    ],
)
def test_a_stand_in_that_answers_too_often_makes_an_eval_say_little(
    head: list[str], models: tuple[str, ...], found: tuple[int, int] | None
) -> None:
    results = answered(head, models)
    reasons = make_report(results).decision.reasons
    expected = [(INCONCLUSIVE, ReasonCode.STAND_IN)] if found else []
    assert [(one.verdict, one.code) for one in reasons] == expected
    if found:
        noun = "trial" if found[1] == 1 else "trials"
        assert (
            f": on head, {SECOND} answered in {found[0]} of {found[1]} {noun} in place of {FIRST}"
            in reasons[0].text
        )


def test_results_that_count_as_they_are_stay_the_very_same() -> None:
    for results in (make_results(BOTH), edit_evals(make_results(BOTH), base_seen=True)):
        assert counted(results) is results
        assert make_report(results).results == results


NONE, ASKED = CallsMade(), CallsMade(made=2, answered=2)
MEASURED = CallsMade(made=1, answered=1, inputs=1, inputs_answered=1)
REFUSED = CallsMade(made=1, refused_by=RefusedBy.PROVIDER, status=404, said="gone")


@pytest.mark.parametrize(
    ("base", "head", "fields", "lost"),
    [
        pytest.param([ASKED] * 5, [NONE] * 5, {}, (5, 5, 5), id="lost"),
        pytest.param([ASKED, *[NONE] * 4], [NONE] * 5, {}, (1, 5, 5), id="asked now and then"),
        pytest.param([ASKED] * 5, [NONE] * 4 + [ASKED], {}, None, id="still asked"),
        pytest.param([ASKED] * 5, [MEASURED] * 5, {}, (5, 5, 5), id="asked for no words any more"),
        pytest.param([MEASURED] * 5, [MEASURED] * 5, {}, None, id="never asked for words"),
        pytest.param([MEASURED] * 5, [NONE] * 5, {}, (5, 5, 5), id="measures texts no more"),
        pytest.param([NONE] * 5, [NONE] * 5, {}, None, id="never asked"),
        pytest.param([ASKED] * 5, [NONE] * 4 + [None], {}, None, id="nobody saw one"),
        pytest.param([ASKED] * 5, [NONE] * 5, {"needs_model": False}, None, id="it may"),
        pytest.param([NONE] * 5, [NONE] * 5, {"base_seen": True}, (0, 5, 5), id="in earlier runs"),
    ],
)
def test_an_agent_that_no_longer_asks_models_is_no_pass(
    base: list[CallsMade | None],
    head: list[CallsMade | None],
    fields: dict[str, Any],
    lost: tuple[int, int, int] | None,
) -> None:
    def change(trial: Trial) -> dict[str, Any]:
        mine = head if trial.key.side is Side.HEAD else base
        return {"calls": mine[trial.key.repetition - 1], "output": "Hello."}

    results = edit_evals(edit_trials(make_results(BOTH), change), **fields)
    reasons = make_report(results).decision.reasons
    expected = [(ReasonCode.NO_MODEL_CALLS, "a-eval")] if lost else []
    assert [(one.code, one.eval) for one in reasons] == expected
    assert all(one.verdict is INCONCLUSIVE for one in reasons)
    if lost:
        before = f"in {lost[0]} of {lost[1]} runs" if lost[0] else "in earlier runs"
        assert f"a: base asked models {before}, and head in none of {lost[2]}" in reasons[0].text


def test_an_agent_that_gave_no_answer_lost_no_models() -> None:
    results = make_results("a-eval f base:pass head:candidate")
    said = edit_trials(
        results,
        lambda one: {"output": "Hi.", "calls": ASKED} if one.key.side is Side.BASE else {},
    )
    codes = [one.code for one in make_report(said).decision.reasons]
    assert ReasonCode.NO_MODEL_CALLS not in codes


def refused(trial: Trial, by: RefusedBy = RefusedBy.PROVIDER) -> dict[str, Any]:
    calls = REFUSED.model_copy(update={"refused_by": by})
    fields = {"outcome": Outcome.FAIL, "cause": Cause.CANDIDATE, "repeats": True, "reason": "Gone."}
    return {**fields, "calls": calls, "score": None, "assessments": ()}


@pytest.mark.parametrize(
    ("sides", "by", "expected"),
    [
        (tuple(Side), RefusedBy.PROVIDER, INCONCLUSIVE),
        (tuple(Side), RefusedBy.GATEWAY, INCONCLUSIVE),
        ((Side.HEAD,), RefusedBy.PROVIDER, FAIL),
        ((Side.BASE,), RefusedBy.PROVIDER, PASS),
    ],
)
def test_what_a_provider_refuses_both_sides_was_not_measured(
    sides: tuple[Side, ...], by: RefusedBy, expected: GateVerdict
) -> None:
    results = edit_trials(
        make_results("a-eval f base:pass head:pass", threshold=None),
        lambda one: refused(one, by) if one.key.side in sides else {},
    )
    changed = without_common_refusals(results)
    common = len(sides) == 2 and by is RefusedBy.PROVIDER
    assert {one.outcome is Outcome.ERROR for one in changed.trials} == {common}
    if common:
        assert {one.cause for one in changed.trials} == {Cause.PROVIDER}
        assert not any(one.repeats for one in changed.trials)
        assert "was refused as well" in changed.trials[0].reason
        sealed = without_common_refusals(edit_evals(results, sealed=True))
        assert {one.reason for one in sealed.trials} == {"Gone."}
    assert make_report(results).decision.verdict is expected


def test_a_fixture_that_base_was_not_always_refused_is_measured() -> None:
    results = edit_trials(
        make_results("a-eval f base:pass,pass head:pass,pass"),
        lambda one: {} if (one.key.side, one.key.repetition) == (Side.BASE, 1) else refused(one),
    )
    assert without_common_refusals(results).trials == results.trials


def claimed(
    head: str, *, base_claims: int = 0, base_calls: int = 1, source: str = "gate"
) -> Results:
    """Head claims all; so does base in its first `base_claims` of two trials."""

    def change(trial: Trial) -> dict[str, Any]:
        on_base = trial.key.side is Side.BASE
        claims = not on_base or trial.key.repetition <= base_claims
        assessments = tuple(one.model_copy(update={"claimed": claims}) for one in trial.assessments)
        trace = Trace(source="gate" if on_base else "candidate", model_calls=base_calls)
        return {"assessments": assessments, "trace": trace}

    return edit_trials(make_results(f"a-eval f base:pass,pass head:{head}"), change)


@pytest.mark.parametrize(
    ("results", "outcomes"),
    [
        pytest.param(claimed("pass,pass"), {Outcome.ERROR}, id="a claim that helps"),
        pytest.param(claimed("fail,fail"), {Outcome.FAIL}, id="one that does not"),
        pytest.param(claimed("pass,pass", base_claims=1), {Outcome.ERROR}, id="base does at times"),
        pytest.param(claimed("pass,pass", base_claims=2), {Outcome.PASS}, id="so does base"),
        pytest.param(claimed("pass,pass", base_calls=0), {Outcome.PASS}, id="nothing was seen"),
        pytest.param(
            edit_evals(claimed("pass,pass", base_calls=0), base_seen=True),
            {Outcome.ERROR},
            id="seen in an earlier run",
        ),
    ],
)
def test_what_head_merely_claims_where_the_gate_saw_base_does_not_count(
    results: Results, outcomes: set[Outcome]
) -> None:
    found = without_mere_claims(results).trials
    head = [one for one in found if one.key.side is Side.HEAD]
    assert {one.outcome for one in head} == outcomes
    assert {one.outcome for one in found if one.key.side is Side.BASE} == {Outcome.PASS}
    if outcomes == {Outcome.ERROR}:
        assert {one.cause for one in head} == {Cause.GATE}
        assert {one.score for each in head for one in each.assessments} == {None}
