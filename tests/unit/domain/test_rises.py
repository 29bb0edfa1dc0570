"""Money and time, head against base: what is paired, what has a ratio, what follows from it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gateval.domain.decision.decision import Report, make_report
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.results.comparison import Measure, Rise, Unit
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Side, Trial
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode
from tests.helpers.reports import edit_plan, make_results

ROWS = "\n".join(f"a-eval f{number} base:pass,pass head:pass,pass" for number in range(5))
FREE, UNKNOWN = Usage(input_tokens=0, output_tokens=0, usd=0.0), Usage()


def policy(**written: object) -> Policy:
    return Policy.model_validate(written)


def spent(trial: Trial, usd: float | None, *, rise: float) -> Trial:
    """Fixture n costs n + 1 times as much as the first, and `rise` times that on head."""
    many = (int(trial.key.fixture[1:]) + 1) * (rise if trial.key.side is Side.HEAD else 1.0)
    tokens = round(100 * many)
    usage = Usage(input_tokens=tokens, output_tokens=0, usd=None if usd is None else usd * many)
    return trial.model_copy(update={"usage": usage, "output": "x", "seconds": many})


def report(
    rule: Policy, *, usd: float | None = 0.01, rise: float = 1.5, rows: str = ROWS
) -> Report:
    results = edit_plan(make_results(rows), policy=rule)
    trials = tuple(spent(trial, usd, rise=rise) for trial in results.trials)
    return make_report(results.model_copy(update={"trials": trials}))


def found(made: Report, measure: Measure) -> Rise:
    return next(one for one in made.comparison.rises if one.measure is measure)


def reasons(made: Report) -> list[DecisionReason]:
    risen = {ReasonCode.COST, ReasonCode.LATENCY}
    return [reason for reason in made.decision.reasons if reason.code in risen]


def test_fixtures_are_paired_whatever_they_cost() -> None:
    rise = found(report(Policy()), Measure.COST)
    assert rise.ratio is not None
    assert (rise.unit, rise.ratio.pairs) == (Unit.USD, 5)
    assert (rise.ratio.low, rise.ratio.mean, rise.ratio.high) == pytest.approx((1.5, 1.5, 1.5))


def test_without_prices_tokens_are_compared() -> None:
    assert found(report(Policy(), usd=None), Measure.COST).unit is Unit.TOKENS
    assert found(report(Policy(), usd=0.0), Measure.COST).unit is Unit.TOKENS


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ({}, None),
        ({"maxRatio": 1.4}, GateVerdict.PASS),
        ({"maxRatio": 1.4, "over": "block"}, GateVerdict.FAIL),
        ({"maxRatio": 1.51, "over": "block"}, None),
        ({"maxRatio": 1.5000001, "over": "block"}, None),
    ],
)
@pytest.mark.parametrize("key", ["cost", "latency"])
def test_a_rise_is_told_and_blocks_if_asked(
    key: str, rule: Mapping[str, object], verdict: GateVerdict | None
) -> None:
    made = report(policy(**{key: rule}))
    told = [reason for reason in reasons(made) if reason.code.value == key]
    assert [reason.verdict for reason in told] == ([] if verdict is None else [verdict])
    assert made.decision.verdict is (verdict or GateVerdict.PASS)


def test_the_reason_says_what_and_how_sure() -> None:
    (told,) = reasons(report(policy(cost={"maxRatio": 1.2})))
    assert told.text == (
        "a-eval: an answer costs 1.5 times what it did on base (1.5 to 1.5), over the 1.2 of "
        "policy.cost.maxRatio"
    )


def test_noise_alone_is_not_over() -> None:
    """Two fixtures cost twice as much, two half: the mean is 1, the interval wide."""
    results = edit_plan(make_results(ROWS), policy=policy(cost={"maxRatio": 1, "over": "block"}))
    factors = {"f0": 2.0, "f1": 2.2, "f2": 0.5, "f3": 0.5, "f4": 1.1}
    trials = tuple(spent(trial, 0.01, rise=factors[trial.key.fixture]) for trial in results.trials)
    made = make_report(results.model_copy(update={"trials": trials}))
    ratio = found(made, Measure.COST).ratio
    assert ratio is not None
    assert ratio.mean > 1
    assert not reasons(made)


def test_selected_repetitions_do_not_count() -> None:
    """A fixture that looks worse gets more trials; dear ones among them change nothing."""
    rows = ROWS.replace("f4 base:pass,pass head:pass,pass", "f4 base:pass,pass head:fail,fail")
    results = make_results(rows, deterministic=False)
    trials = tuple(
        spent(one, 0.01 if one.key.repetition <= 2 else 99.0, rise=1.0) for one in results.trials
    )
    assert any(trial.key.repetition > 2 for trial in trials)
    ratio = found(make_report(results.model_copy(update={"trials": trials})), Measure.COST).ratio
    assert ratio is not None
    assert ratio.mean == pytest.approx(1)


def with_usages(base: Usage, head: Usage, rule: Policy) -> Report:
    results = edit_plan(make_results(ROWS), policy=rule)
    trials = tuple(
        trial.model_copy(
            update={
                "output": "x",
                "seconds": 1.0,
                "usage": head if trial.key.side is Side.HEAD else base,
            }
        )
        for trial in results.trials
    )
    return make_report(results.model_copy(update={"trials": trials}))


@pytest.mark.parametrize(("base", "head"), [(UNKNOWN, UNKNOWN), (FREE, UNKNOWN), (FREE, FREE)])
def test_a_limit_that_blocks_and_cannot_be_measured_is_no_pass(base: Usage, head: Usage) -> None:
    made = with_usages(base, head, policy(cost={"maxRatio": 2, "over": "block"}))
    assert [reason.verdict for reason in reasons(made)] == [GateVerdict.INCONCLUSIVE]
    assert made.decision.verdict is GateVerdict.INCONCLUSIVE
    warned = with_usages(base, head, policy(cost={"maxRatio": 2}))
    assert warned.decision.verdict is GateVerdict.PASS
    assert "cannot be held against base" in reasons(warned)[0].text


def test_what_cost_nothing_before_has_no_ratio_and_is_counted() -> None:
    results = make_results(ROWS)
    trials = tuple(
        spent(one, 0.0 if (one.key.fixture, one.key.side) == ("f0", Side.BASE) else 0.01, rise=1)
        for one in results.trials
    )
    rise = found(make_report(results.model_copy(update={"trials": trials})), Measure.COST)
    assert rise.ratio is not None
    assert (rise.zeros, rise.ratio.pairs) == (1, 4)


def test_one_fixture_alone_proves_nothing() -> None:
    one = "a-eval f0 base:pass,pass head:pass,pass"
    made = report(policy(cost={"maxRatio": 1.2, "over": "block"}), rows=one)
    (told,) = reasons(made)
    assert told.verdict is GateVerdict.PASS
    assert "which one fixture alone does not prove" in told.text


def test_several_limits_share_the_chance_of_an_error() -> None:
    both = policy(cost={"maxRatio": 2}, latency={"maxRatio": 2})
    levels = {one.ratio.level for one in report(both).comparison.rises if one.ratio is not None}
    assert levels == {0.975}


def test_nothing_is_compared_without_a_base() -> None:
    made = report(policy(cost={"maxRatio": 1, "over": "block"}), rows="a-eval f0 head:pass,pass")
    assert made.comparison.rises == ()
    assert made.decision.verdict is GateVerdict.PASS
