"""What runs of a plan against itself say: rates of planned repetitions, alarms, and what is lost."""

from __future__ import annotations

from gateval.domain.results.self_check import self_check
from tests.helpers.reports import make_results

STEADY = "a-eval f base:pass,pass head:pass,pass\na-eval g base:fail,fail head:fail,fail"


def test_rates_are_of_planned_repetitions_of_both_sides() -> None:
    first = make_results(STEADY)
    found = self_check(first.plan, [first, first])
    assert [(one.fixture, one.passes, one.trials, one.rate) for one in found.rates] == [
        ("f", 8, 8, 1.0),
        ("g", 0, 8, 0.0),
    ]
    assert (found.runs, found.alarms, found.lost, found.trials) == (2, 0, 0, 8.0)


def test_what_was_made_because_it_looked_worse_is_in_no_rate() -> None:
    worse = make_results("a-eval f base:pass,pass+pass head:pass,fail+fail", deterministic=False)
    (rate,) = self_check(worse.plan, [worse]).rates
    assert (rate.passes, rate.trials) == (3, 4)


def test_a_run_in_which_an_agent_gives_no_answer_is_lost() -> None:
    steady = make_results("a-eval f base:pass head:pass")
    silent = make_results("a-eval f base:pass head:candidate")
    found = self_check(steady.plan, [steady, silent])
    assert (found.runs, found.lost) == (1, 1)
