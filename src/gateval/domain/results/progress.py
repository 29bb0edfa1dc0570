"""How far a run is: all rules looked at once, for the trials to start next and the comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias

from gateval.domain.plan.joint import Joint
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.grouping import Grouped
from gateval.domain.results.looks.broad_slippage import Stored, broad_slippage
from gateval.domain.results.looks.course import AGREEING, Course, course_of, larger, rules_of
from gateval.domain.results.looks.purse import Purse, purse_of
from gateval.domain.results.threshold import threshold_repetitions
from gateval.domain.statistics.broad import CONFIRMING_TRIALS, Broad
from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.fisher import fisher
from gateval.domain.statistics.looks import Look
from gateval.domain.trials.trial import Side, Trial

Together: TypeAlias = tuple[tuple[Joint, Broad | None], ...]
"""Each test of several fixtures of an Eval, with what it says so far."""

_Name = tuple[str, str]


class PlanProgress(NamedTuple):
    """Where every fixture and Eval of a plan stands.

    `courses` and `wanted` are by the Eval that measures a fixture, and the fixture; `wanted` is how
    many trials each side has to have by now. `broad` is by Eval. The budget left nothing to look at
    the fixtures `cut` again, nor at all of those Evals `cut_together`.
    """

    courses: Mapping[_Name, Course]
    wanted: Mapping[_Name, Look]
    broad: Mapping[str, Together]
    cut: frozenset[_Name] = frozenset()
    cut_together: frozenset[str] = frozenset()


def progress(plan: Plan, trials: Grouped, beside: int | None = None) -> PlanProgress:
    """Return how far `trials` bring a plan; `beside` is as for `purse_of`."""
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
    _level(plan, wanted)
    stored = {(e.name, one.fixture): len(one.marks) for e in plan.evals for one in e.stored}
    broad = {planned.name: _broad(planned, trials, stored, courses) for planned in plan.evals}
    purse = purse_of(plan, _made_now(trials, stored), beside)
    cut = _cut(plan, trials, courses, wanted, purse)
    together = frozenset(
        planned.name
        for planned in plan.evals
        if not _add_wishes(planned, trials, stored, broad[planned.name], wanted, purse)
    )
    _level(plan, wanted)
    return PlanProgress(courses, wanted, broad, cut, together)


def _level(plan: Plan, wanted: dict[_Name, Look]) -> None:
    """Have all fixtures of a sealed Eval asked as often as the one that wants most.

    An agent counts what it is asked, and would know of each single one whether it looks worse. What
    stands as regressed is asked like the others, and wants nothing itself.
    """
    for planned in plan.evals:
        if planned.sealed:
            looks = (wanted[planned.name, one] for one in _measured(planned))
            most = reduce(larger, looks, planned.first_look)
            wanted.update({(planned.name, one.name): most for one in planned.own_fixtures})


def _measured(planned: PlannedEval) -> list[str]:
    """Return the fixtures that run under an Eval's name, but for those that stand as regressed."""
    return [one.name for one in planned.own_fixtures if planned.stands(one.name) is None]


def _made_now(trials: Grouped, stored: Stored) -> list[Trial]:
    """The trials of this run: those that are stored come first, and cost nothing."""
    return [
        trial
        for (evaluation, fixture, side), group in trials.items()
        for trial in group[stored.get((evaluation, fixture), 0) if side is Side.BASE else 0 :]
    ]


def _broad(
    planned: PlannedEval, trials: Grouped, stored: Stored, courses: Mapping[_Name, Course]
) -> Together:
    owners = planned.owners()
    compared = [courses[owners[name], name] for name in planned.compared]
    found = any(one.regressed or one.fell_silent for one in compared)
    return broad_slippage(planned, trials, stored, found=found)


def _cut(
    plan: Plan,
    trials: Grouped,
    courses: Mapping[_Name, Course],
    wanted: dict[_Name, Look],
    purse: Purse,
) -> frozenset[_Name]:
    """Take back what fixtures want beyond the planned trials and the purse does not hold.

    Who looks worst is served first: the others' repetitions tell least.
    """
    if not plan.policy.budget.is_set:
        return frozenset()
    asking = [
        (_worst(group, trials), number, group)
        for number, group in enumerate(_groups(plan, courses))
        if any(_missing(name, wanted[name], trials) for name in group.names)
        and not any(_missing(name, group.planned.first_look, trials) for name in group.names)
    ]
    cut = set()
    for *_, group in sorted(asking, key=lambda one: one[:2]):
        if purse.take(sum(_missing(name, wanted[name], trials) for name in group.names)):
            continue
        cut |= {name for name in group.ending if _missing(name, courses[name].wanted, trials)}
        free = [courses[name].wanted for name in group.names if courses[name].walk is None]
        wanted.update({name: reduce(larger, free, _done(name, trials)) for name in group.names})
    return frozenset(cut)


class _Group(NamedTuple):
    """Fixtures that the purse ends at once; `ending` are those that are compared."""

    planned: PlannedEval
    names: Sequence[_Name]
    ending: Sequence[_Name]


def _groups(plan: Plan, courses: Mapping[_Name, Course]) -> Iterator[_Group]:
    """Yield what the purse may end: a compared fixture, or a sealed Eval with all that it has."""
    for planned in plan.evals:
        measured = [(planned.name, one) for one in _measured(planned)]
        ending = [name for name in measured if courses[name].walk is not None]
        if not planned.sealed:
            yield from (_Group(planned, [name], [name]) for name in ending)
        elif ending:
            yield _Group(planned, [(planned.name, f.name) for f in planned.own_fixtures], ending)


def _worst(group: _Group, trials: Grouped) -> tuple[float, float]:
    """Return by what a group is served: how bad the worst of it looks, and how that weighs."""
    planned = group.planned
    return min(
        (
            fisher(*_counts(name, trials)),
            -planned.scoring.weight(planned.fixture(name[1]).severity),
        )
        for name in group.ending
    )


def _add_wishes(
    planned: PlannedEval,
    trials: Grouped,
    stored: Stored,
    broad: Together,
    wanted: dict[_Name, Look],
    purse: Purse,
) -> bool:
    """Add what an Eval wants of all its fixtures, those that another one measures among them.

    Return whether the purse held it. That a threshold is judged fairly is never a matter of money.
    """
    owners = planned.owners()
    least = Look(base=1, head=threshold_repetitions(planned, trials))
    for name, owner in owners.items():
        wanted[owner, name] = larger(wanted[owner, name], least)
    held = True
    for test, said in broad:
        if said is not None and said.step is LookResult.GO_ON:
            asked = owners if planned.sealed else test.fixtures
            names = [(owners[name], name) for name in asked]
            looks = {
                name: larger(wanted[name], _next(test, said, stored.get(name, 0))) for name in names
            }
            more = sum(
                _missing(name, look, trials) - _missing(name, wanted[name], trials)
                for name, look in looks.items()
            )
            if purse.take(more):
                wanted.update(looks)
            else:
                held = False
    return held


def _next(test: Joint, said: Broad, stored: int) -> Look:
    """Return what a test of several fixtures wants of one of them next."""
    if said.confirming:
        return Look(base=stored + CONFIRMING_TRIALS, head=1)
    if said.exact:
        return Look(base=AGREEING, head=AGREEING)
    after = test.looks[said.at + 1]
    return Look(base=max(stored, after.base), head=after.head)


def _done(name: _Name, trials: Grouped) -> Look:
    base, head = (len(trials.get((*name, side), ())) for side in (Side.BASE, Side.HEAD))
    return Look(base=max(1, base), head=max(1, head))


def _missing(name: _Name, look: Look, trials: Grouped) -> int:
    """Return how many trials of both sides are missing at a look."""
    return sum(
        max(0, many - sum(t.key.repetition <= many for t in trials.get((*name, side), ())))
        for side, many in ((Side.BASE, look.base), (Side.HEAD, look.head))
    )


def _counts(name: _Name, trials: Grouped) -> tuple[int, int, int, int]:
    """Return the passes and the measured trials of base, then those of head."""
    base, head = (
        [t.passed for t in trials.get((*name, side), ()) if t.passed is not None]
        for side in (Side.BASE, Side.HEAD)
    )
    return sum(base), len(base), sum(head), len(head)
