"""The cost and the power of a run, as a plan tells them beforehand and a report afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import inf
from typing import Literal

from gateval.domain.base import Value
from gateval.domain.manifests.fixture import named_axes, weighed_axes
from gateval.domain.plan.plan import Plan, SeenDrop
from gateval.domain.plan.planned_eval import Joint, PlannedEval, together_only
from gateval.domain.results.comparison import Comparison
from gateval.domain.results.fixture_progress import graded_rule_of
from gateval.domain.statistics.design import Design, Look, design, first_looks
from gateval.domain.statistics.graded import LEAST_GRADED_DROP, Axis, on_passes
from gateval.domain.statistics.power import PairedRule, smallest_fall
from gateval.domain.statistics.preference import preference_found
from gateval.domain.statistics.walk import expected, smallest_drop

STEADY_RATE = 0.95
"""The pass rate of a fixture for which costs and drops are stated."""


class Outlook(Value):
    """The trials of both sides: planned, expected if nothing changed, and the most there can be.

    `drop` is the smallest drop of one fixture's pass rate that is found in four of five cases, from
    0 to 1; None where nothing is compared by chance. `free_drop` is what it would be without a
    limit of repetitions.
    """

    planned: int
    expected: int
    most: int
    drop: float | None = None
    free_drop: float | None = None


def outlook(plan: Plan) -> Outlook:
    """Return what a plan costs and can see, for fixtures that pass in 95 % of their trials."""
    by_chance = [one for one in plan.evals if one.compared and not one.deterministic]
    drops = [found_drop(one, spare_trials(plan)) for one in by_chance]
    return Outlook(
        planned=plan.trial_count,
        expected=round(sum(expected_trials(planned) for planned in plan.evals)),
        most=sum(plan.most_repetitions().values())
        - sum(len(one.marks) for planned in plan.evals for one in planned.stored),
        drop=max(drops, default=None),
        free_drop=max((found_drop(one.uncut) for one in by_chance), default=None),
    )


def spare_trials(plan: Plan) -> float:
    """Return how many trials the budget leaves after the planned ones."""
    repetitions = plan.policy.budget.repetitions
    return inf if repetitions is None else max(0, repetitions - plan.trial_count)


def unseen_drop(plan: Plan, comparison: Comparison, spare: float) -> float | None:
    """Return the drop of one fixture's pass rate below which a run finds it in under 4 of 5 cases.

    `spare` is how many trials the budget left after the planned ones. It is the drop of the least
    sure Eval; 1.0 where none is found that often. None where nothing was compared by chance: no
    baseline, or candidates that proved to be deterministic.
    """
    by_chance = {
        compared.eval
        for compared in comparison.evals
        if not compared.unanswered
        and any(
            one.base_all and not (one.exact or one.found_at)  # what stands is not compared
            for one in compared.fixtures
        )
    }
    drops = [found_drop(one, spare) for one in plan.evals if one.compared and one.name in by_chance]
    return max(drops, default=None)


def found_drop(planned: PlannedEval, spare: float = inf) -> float:
    """Return the smallest drop of a steady fixture that is found in 4 of 5 cases; 1.0 if none.

    `spare` is how many trials there are beyond the planned ones: looks that take more of them are
    never reached, by a fixture that is the only one to look worse.
    """
    if not planned.fixture_share:
        return 1.0
    least = min((planned.stored_counts().get(one, 0) for one in planned.compared), default=0)
    if planned.scoring.graded:
        return _found(_rule(planned, least), spare)
    return _found_alone(planned.looks_with(least), planned.fixture_share, spare)


@lru_cache(1_024)
def _found_alone(looks: tuple[Look, ...], share: float, spare: float) -> float:
    """The same of a fixture tested alone: most Evals ask alike."""
    return _found(design(looks, share), spare)


def _found(rule: Design, spare: float) -> float:
    reached = sum(look.trials - rule.looks[0].trials <= spare for look in rule.looks)
    return smallest_drop(first_looks(rule, reached), STEADY_RATE) or 1.0


def seen_drops(plan: Plan) -> tuple[SeenDrop, ...]:
    """Return for each compared Eval which drop of one fixture is found in 4 of 5 cases, and where
    trials have scores, of all its fixtures together and of each axis.

    Fixtures pass in 95 % of their trials before; scores are 0 or 1, the hardest to tell apart. An
    agent that does the same each time needs no luck: there the least drop that counts is found.
    """
    spare = spare_trials(plan)
    compared = [one for one in plan.evals if one.compared and one.bar is None]
    return tuple(drop for planned in compared for drop in _seen(planned, spare))


def _seen(planned: PlannedEval, spare: float) -> Iterator[SeenDrop]:
    def seen(
        of: Literal["one", "all", "axis", "preference"], drop: float | None, axis: str = ""
    ) -> SeenDrop:
        known = None if drop is None or drop >= 1 else round(drop, 3)
        return SeenDrop(eval=planned.own_name, of=of, axis=axis, drop=known)

    exact, graded = planned.deterministic, planned.scoring.graded
    least = LEAST_GRADED_DROP if graded else 0.0
    yield seen("one", least if exact else found_drop(planned, spare))
    if asking := len(planned.preferring):
        yield seen("preference", preference_found(asking, planned.preference_share))
    if not graded:
        return
    tests = {one.axis: one for one in planned.joint_tests if not one.family}
    whole = least if exact else _falls(tests.get(""), spare)
    if len(planned.compared) > 1:
        yield seen("all", whole)
    names = list(weighed_axes(planned.fixture(name) for name in planned.compared))
    for axis in named_axes(names):
        test = tests.get(axis) if len(names) > 1 else tests.get("")
        yield seen("axis", least if exact else _falls(test, spare), axis)


def _falls(test: Joint | None, spare: float) -> float | None:
    """Return the smallest fall that a test of several fixtures finds in 4 of 5 cases."""
    if test is None or not test.share:
        return None
    units, looks = len(test.fixtures), test.looks
    axis = Axis(looks, test.share, test.least_drop)
    parts = [
        axis.part(index, units) if test.axis else test.share / len(looks)
        for index in range(len(looks))
    ]
    reached = sum(units * (one.trials - looks[0].trials) <= spare for one in looks)
    pairs = tuple(look.head * units for look in looks[:reached])
    rule = PairedRule(pairs, tuple(parts[:reached]), test.least_drop, early=bool(test.axis))
    return smallest_fall(rule, STEADY_RATE)


def expected_trials(planned: PlannedEval) -> float:
    """Return how many trials of both sides an Eval takes if nothing changed."""
    reps = planned.execution.reps_per_fixture
    own = {fixture.name for fixture in planned.own_fixtures}
    together = together_only(planned.fixtures, planned.compared)
    compared = own.intersection(planned.compared) - together
    alone = (len(own) - len(compared)) * reps * len(planned.sides)
    if not compared or planned.deterministic:
        return alone + len(compared) * reps * len(planned.sides)
    stored = planned.stored_counts()
    counts = Counter(stored.get(name, 0) for name in compared)
    return alone + sum(
        times * (_expected_alone(planned, many) - many) for many, times in sorted(counts.items())
    )


def _expected_alone(planned: PlannedEval, stored: int) -> float:
    if planned.scoring.graded:
        return expected(_rule(planned, stored), STEADY_RATE, STEADY_RATE).trials
    return _expected(planned.looks_with(stored), planned.fixture_share)


@lru_cache(1_024)
def _expected(looks: tuple[Look, ...], share: float) -> float:
    return expected(design(looks, share), STEADY_RATE, STEADY_RATE).trials


def _rule(planned: PlannedEval, stored: int) -> Design:
    """The design of a fixture tested alone; of scores, that of the hardest to tell apart."""
    if planned.scoring.graded:
        return on_passes(graded_rule_of(planned))
    return design(planned.looks_with(stored), planned.fixture_share)
