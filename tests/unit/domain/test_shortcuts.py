"""What is kept or left out to be quick says the same as what is worked out anew."""

from __future__ import annotations

from itertools import product

import pytest

from gateval.domain.base import known_of_last
from gateval.domain.results.averages import with_stored
from gateval.domain.results.scoring import score_eval, threshold_repetitions
from gateval.domain.trials.trial import Side
from tests.helpers.reports import make_results


def test_a_function_is_asked_again_about_another_object_though_it_is_equal() -> None:
    asked: list[list[int]] = []

    @known_of_last
    def count(one: list[int]) -> int:
        asked.append(one)
        return len(one)

    first, equal = [1, 2], [1, 2]
    assert (count(first), count(first), count(equal), count(first)) == (2, 2, 2, 2)
    assert [id(one) for one in asked] == [id(first), id(equal), id(first)]


def test_a_copy_with_other_fixtures_finds_its_own() -> None:
    (planned,) = make_results("refund one head:pass\nrefund two head:pass").plan.evals
    plain = planned.model_copy()
    assert planned.fixture("two") is planned.fixtures[1]
    assert (planned, planned.model_dump_json()) == (plain, plain.model_dump_json())
    less = planned.model_copy(update={"fixtures": planned.fixtures[:1]})
    assert less.fixture("one") is planned.fixtures[0]
    with pytest.raises(KeyError):
        less.fixture("two")


@pytest.mark.parametrize("threshold", [0.3, 0.6, 0.9])
@pytest.mark.parametrize(
    "outcomes", [*product(["pass", "fail", "provider", "skip", "-"], repeat=3)]
)
def test_a_threshold_is_judged_on_the_same_trials(
    outcomes: tuple[str, ...], threshold: float
) -> None:
    rows = "\n".join(f"refund f{n} head:{one}" for n, one in enumerate(outcomes))
    results = make_results(rows, threshold=threshold, deterministic=False)
    trials = with_stored(results.plan, results.trials)
    (planned,) = results.plan.evals
    first = score_eval(planned, Side.HEAD, trials)
    whole = threshold_repetitions(planned, trials, first)
    assert threshold_repetitions(planned, trials) == whole
