"""Whether an Eval's fixtures, each a little worse, are worse together; and each axis.

Candidates that are known to do the same each time need no statistics here either: an axis that is
lower has regressed, if a second trial of each fixture agrees on each side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import NamedTuple, TypeAlias

from gateval.domain.plan.planned_eval import Joint, PlannedEval
from gateval.domain.results.averages import Grouped, outcomes
from gateval.domain.results.fixture_progress import AGREEING, alike, has_real_judge, repeats
from gateval.domain.results.trial_verdict import axis_grades, grades
from gateval.domain.statistics.broad import CONFIRMING_TRIALS, Broad, broad_step, confirmed, first
from gateval.domain.statistics.design import Look, LookResult
from gateval.domain.statistics.graded import Axis, Scores, axis_step, graded_broad_step
from gateval.domain.statistics.walk import Outcomes, counted
from gateval.domain.trials.trial import Side, Trial


class AxisUnit(NamedTuple):
    """One fixture of an axis: the scores of its trials on both sides, by repetition."""

    base: Scores
    head: Scores
    alike: bool


def axis_units(planned: PlannedEval, test: Joint, trials: Grouped) -> list[AxisUnit]:
    """Return the fixtures of a test of one axis, without those that stand as regressed."""
    owners, known = planned.owners(), {one.fixture for one in planned.standing}
    units = []
    for name in test.fixtures:
        if name not in known:
            fixture = planned.fixture(name)
            old, new = (trials.get((owners[name], name, s), ()) for s in (Side.BASE, Side.HEAD))
            base, head = (axis_grades(test.axis, fixture, side) for side in (old, new))
            same = not has_real_judge(planned, fixture) and alike(old) and alike(new)
            units.append(AxisUnit(base, head, same))
    return units


def axis_slippage(
    planned: PlannedEval, test: Joint, trials: Grouped, *, found: bool
) -> Broad | None:
    """Return what the newest look says, None before the first; `found`: something blocks anyway."""
    units = axis_units(planned, test, trials)
    scores = [(one.base, one.head) for one in units]
    if not units or not _has(scores, test.looks[0]):
        return None
    if planned.deterministic and all(one.alike for one in units):
        base, head = (
            fsum(side[0] or 0.0 for side in sides) / len(scores)
            for sides in zip(*scores, strict=True)
        )
        worse = base - head >= test.least_drop
        step = LookResult.REGRESSED if worse else LookResult.STOP
        if worse and not _has(scores, Look(base=AGREEING, head=AGREEING)):
            step = LookResult.GO_ON
        p_value = 0.0 if step is LookResult.REGRESSED else 1.0
        return Broad(step=step, p_value=p_value, base=base, head=head, axis=test.axis, exact=True)
    axis = Axis(test.looks, test.share, test.least_drop)
    said = _newest(test, scores, lambda at: axis_step(axis, at, scores, found=found))
    return said.replace(axis=test.axis) if said else None


def _has(sides: Iterable[tuple[Scores, Scores]], look: Look) -> bool:
    """Whether every fixture has the trials of a look."""
    return all(len(base) >= look.base and len(head) >= look.head for base, head in sides)


def _newest(
    test: Joint, sides: Sequence[tuple[Scores, Scores]], step: Callable[[int], Broad]
) -> Broad | None:
    """Return what the newest look says that has its trials; none comes after one that ends it."""
    said: Broad | None = None
    for index, look in enumerate(test.looks):
        if not _has(sides, look):
            break
        said = step(index)
        if said.step is not LookResult.GO_ON:
            break
    return said


Stored: TypeAlias = Mapping[tuple[str, str], int]
"""How many base trials are stored, by the Eval that measures a fixture, and the fixture."""


def broad_slippage(
    planned: PlannedEval, trials: Grouped, stored: Stored, *, found: bool
) -> tuple[tuple[Joint, Broad | None], ...]:
    """Return what the newest look of each test of several fixtures says, None for nothing.

    Whole scores are looked at before each axis. `found` says that one of them has regressed by
    itself, so that the Eval blocks anyway.
    """
    tests = planned.joint_tests
    owners = planned.owners() if tests else {}
    say = _by_scores if planned.scoring.graded else _by_passes
    whole = [
        (test, say(test, _sides(planned, owners, test, trials), stored, found=found))
        for test in tests
        if not test.axis
    ]
    found |= any(said is not None and said.step is LookResult.REGRESSED for _, said in whole)
    axes = [(t, axis_slippage(planned, t, trials, found=found)) for t in tests if t.axis]
    return (*whole, *axes)


class _Sides(NamedTuple):
    """The trials of one fixture, named with the Eval that measures it."""

    name: tuple[str, str]
    base: Sequence[Trial]
    head: Sequence[Trial]


def _sides(
    planned: PlannedEval, owners: Mapping[str, str], test: Joint, trials: Grouped
) -> list[_Sides]:
    """The trials of the fixtures that take part: not those that stand as regressed."""
    known = {one.fixture for one in planned.standing}
    return [
        _Sides(
            (owners[name], name),
            *(trials.get((owners[name], name, side), ()) for side in (Side.BASE, Side.HEAD)),
        )
        for name in test.fixtures
        if name not in known
    ]


def _by_passes(
    test: Joint, sides: Sequence[_Sides], stored: Stored, *, found: bool
) -> Broad | None:
    """Return what the newest look says of passes; all that is stored of base counts.

    Where head is silent for a reason that another trial repeats, an answer of base decides.
    """
    sides = [one for one in sides if not repeats(one.head)]
    known = [stored.get(one.name, 0) for one in sides]
    both = [(outcomes(one.base), outcomes(one.head)) for one in sides]

    def step(at: int) -> Broad:
        look = test.looks[at]
        strata = [
            first(Look(base=max(look.base, many), head=look.head), *pair)
            for pair, many in zip(both, known, strict=True)
        ]
        drop = test.least_drop
        return broad_step(test.looks, at, strata, test.share, found=found, least_drop=drop)

    whole = [base for (base, _), many in zip(both, known, strict=True) if len(base) >= many]
    said = _newest(test, both, step) if len(whole) == len(both) else None
    if said is None:
        return None
    said = said.replace(family=test.family)
    if said.step is not LookResult.REGRESSED or not any(known):
        return said
    return _borne_out(said, test.looks[said.at], both, known)


def _borne_out(
    alarm: Broad, look: Look, sides: Sequence[tuple[Outcomes, Outcomes]], stored: Sequence[int]
) -> Broad:
    """Return what becomes of an alarm that rests on stored trials, once base as it is now is known.

    The first fresh trials of every fixture take part, whatever they were made for.
    """
    fresh = [
        (base[many : many + CONFIRMING_TRIALS], head[: look.head])
        for (base, head), many in zip(sides, stored, strict=True)
    ]
    if not _has(fresh, Look(base=CONFIRMING_TRIALS, head=1)):
        return alarm.replace(step=LookResult.GO_ON, confirming=True)
    if confirmed([(counted(base), counted(head)) for base, head in fresh]):
        return alarm
    return alarm.replace(step=LookResult.STOP, outdated=True)


def _by_scores(test: Joint, sides: Sequence[_Sides], _: Stored, *, found: bool) -> Broad | None:
    """Return what the newest look says of scores, none of which is stored."""
    units = [(grades(one.base), grades(one.head)) for one in sides]
    share, drop = test.share, test.least_drop
    said = _newest(
        test,
        units,
        lambda at: graded_broad_step(test.looks, at, units, share, found=found, least_drop=drop),
    )
    return said.replace(family=test.family) if said else None
