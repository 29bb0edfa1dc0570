"""How far a run is: all rules looked at once, for the trials to start next and the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from gateval.domain.plan.joint import Joint
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped
from gateval.domain.results.looks.broad_slippage import broad_slippage
from gateval.domain.results.looks.course import Course, course_of, larger, rules_of
from gateval.domain.results.threshold import threshold_repetitions
from gateval.domain.statistics.broad import Broad
from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.looks import Look
from gateval.domain.trials.trial import Side

Together: TypeAlias = tuple[tuple[Joint, Broad | None], ...]
"""Each test of several fixtures of an Eval, with what it says so far."""


class Progress(NamedTuple):
    """Where every fixture and Eval of a plan stands.

    `courses` and `wanted` are by the Eval that measures a fixture, and the fixture; `wanted` is how
    many trials each side has to have by now. `broad` is by Eval.
    """

    courses: Mapping[tuple[str, str], Course]
    wanted: Mapping[tuple[str, str], Look]
    broad: Mapping[str, Together]


def progress(plan: Plan, trials: Grouped) -> Progress:
    """Return how far `trials` bring a plan."""
    courses = {}
    for planned in plan.evals:
        rules = rules_of(planned)
        for fixture in planned.own_fixtures:
            base, head = (
                trials.get((planned.name, fixture.name, side), ())
                for side in (Side.BASE, Side.HEAD)
            )
            courses[planned.name, fixture.name] = course_of(rules, fixture, base, head)
    wanted = {name: course.wanted for name, course in courses.items()}
    broad = {planned.name: _broad(planned, trials, courses) for planned in plan.evals}
    for planned in plan.evals:
        _add_wishes(planned, trials, broad[planned.name], wanted)
    return Progress(courses, wanted, broad)


def _broad(
    planned: PlannedEval, trials: Grouped, courses: Mapping[tuple[str, str], Course]
) -> Together:
    owners = planned.owners()
    found = any(courses[owners[name], name].regressed for name in planned.compared)
    return broad_slippage(planned, trials, found=found)


def _add_wishes(
    planned: PlannedEval,
    trials: Grouped,
    broad: Together,
    wanted: dict[tuple[str, str], Look],
) -> None:
    """Add what an Eval wants of all its fixtures, those that another one measures among them."""
    owners = planned.owners()
    least = Look(base=1, head=threshold_repetitions(planned, trials))
    for name, owner in owners.items():
        wanted[owner, name] = larger(wanted[owner, name], least)
    for test, said in broad:
        if said is not None and said.step is LookResult.GO_ON:
            for name in test.fixtures:
                at = owners[name], name
                wanted[at] = larger(wanted[at], test.looks[1])
