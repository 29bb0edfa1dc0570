"""What a plan will take, by what its Evals took before; what nobody can know is said to be so."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.history.forecast import Forecast, forecast
from gateval.domain.history.recorded import spent_on
from gateval.domain.history.run_record import RunSpent
from gateval.domain.manifests.gate_config import BudgetPolicy
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Trace
from gateval.render.report.plan_wording import forecast_lines
from tests.helpers.reports import make_results
from tests.helpers.runs import run_eval, run_record

PLAN = make_results("a-eval f base:pass,pass head:pass,pass\nb-eval g base:pass head:pass").plan
SPENT = RunSpent(trials=10, calls=20, tokens=5_000, usd=0.5)


def test_each_eval_goes_by_its_latest_run() -> None:
    older = run_record(1, run_eval(name="b-eval", spent=SPENT), seconds=30)
    newer = run_record(
        2, run_eval(name="a-eval", spent=SPENT.model_copy(update={"usd": 1.0})), seconds=60
    )
    found = forecast(PLAN, [newer, older])
    # four trials of a-eval and two of b-eval, both deterministic
    assert found.calls == pytest.approx(4 * 2 + 2 * 2)
    assert found.tokens == pytest.approx(6 * 500)
    assert found.usd == pytest.approx(4 * 0.1 + 2 * 0.05)
    assert found.minutes == pytest.approx((4 * 6 + 2 * 3) / 60)
    assert (found.runs, found.unknown) == (("2-1", "1-1"), ())


def test_without_a_run_nothing_is_known() -> None:
    found = forecast(PLAN, [run_record(1, run_eval(name="a-eval"))])
    assert found == Forecast(unknown=("a-eval", "b-eval"))
    (line,) = forecast_lines(found, BudgetPolicy())
    assert line.startswith("model calls, tokens, money and minutes: not known, no earlier run")


@pytest.mark.parametrize(
    ("spent", "budget", "lines"),
    [
        (
            SPENT,
            {},
            ["by the last run (1-1), about 8 model calls, 2,000 tokens, $0.20, 0.1 minutes"],
        ),
        (
            SPENT.model_copy(update={"usd": None, "tokens": None}),
            {},
            ["by the last run (1-1), about 8 model calls, an unknown number of tokens, an unknown"],
        ),
        (SPENT, {"usd": 0.1}, ["that is more than policy.budget.usd gives a run, which would"]),
        (SPENT, {"usd": 0.3, "minutes": 1, "tokens": 3000}, []),
        (
            SPENT.model_copy(update={"usd": None}),
            {"usd": 0.1},
            ["whether the budget of money is kept is not known"],
        ),
    ],
)
def test_lines(spent: RunSpent, budget: dict[str, Any], lines: list[str]) -> None:
    plan = PLAN.model_copy(update={"evals": PLAN.evals[:1]})
    found = forecast(plan, [run_record(1, run_eval(name="a-eval", spent=spent), seconds=20)])
    said = forecast_lines(found, BudgetPolicy.model_validate(budget))
    for line in lines:
        assert any(one.startswith(line) for one in said), said
    if budget and not lines:
        assert len(said) == 1


def test_what_is_not_in_the_sum_is_named() -> None:
    found = forecast(PLAN, [run_record(1, run_eval(name="a-eval", spent=SPENT))])
    said = forecast_lines(found, BudgetPolicy())
    assert said[1] == "not in it, because no run of them is stored: b-eval"


def test_what_is_known_of_the_cost_is_counted() -> None:
    unpriced = SPENT.model_copy(update={"usd": None})
    runs = [
        run_record(1, run_eval(name="b-eval", spent=unpriced), run_eval(name="a-eval", spent=SPENT))
    ]
    found = forecast(PLAN, runs)
    assert found.usd is None
    assert found.least[1] == pytest.approx(4 * 0.05)
    (line,) = forecast_lines(found, BudgetPolicy())
    assert "3,000 tokens, at least $0.20" in line
    over = forecast_lines(found, BudgetPolicy(usd=0.1))[-1]
    assert over.startswith("that is more than policy.budget.usd gives a run")


def test_what_trials_took() -> None:
    trials = make_results("a-eval f base:pass head:pass").trials
    usage = Usage(input_tokens=10, output_tokens=2, usd=0.25)
    paid = [
        one.model_copy(update={"usage": usage, "trace": Trace(model_calls=3)}) for one in trials
    ]
    assert spent_on(paid) == RunSpent(trials=2, calls=6, tokens=24, usd=0.5)
    assert spent_on([*paid, trials[0]]) == RunSpent(trials=3, calls=6)
    assert spent_on([]) is None


def test_the_range_lies_between_the_cheapest_and_the_dearest_of_the_last_ten_runs() -> None:
    spent = [SPENT.model_copy(update={"usd": usd, "calls": 20 + usd}) for usd in range(1, 13)]
    runs = [
        run_record(number, run_eval(name="a-eval", spent=one), seconds=60)
        for number, one in enumerate(spent)
    ]
    ranges = forecast(PLAN.model_copy(update={"evals": PLAN.evals[:1]}), runs).ranges
    assert ranges is not None
    assert ranges.runs == 10, "the two oldest do not count"
    assert ranges.usd == pytest.approx((4 * 0.1, 4 * 1.0))
    assert ranges.calls == pytest.approx((4 * 2.1, 4 * 3.0))
    assert ranges.tokens == pytest.approx((2_000, 2_000))
    said = forecast_lines(forecast(PLAN, runs), BudgetPolicy())
    assert said[1] == (
        "by the last 10 runs, 8 to 12 model calls, 2,000 to 2,000 tokens, $0.40 to $4.00, "
        "0.4 to 0.4 minutes"
    )
    assert forecast(PLAN, runs[:1]).ranges is None, "one run is no range"
