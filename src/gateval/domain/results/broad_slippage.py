"""Whether an Eval's fixtures, each a little worse, are worse together; and each axis.

Candidates that are known to do the same each time need no statistics here either: an axis that is
lower has regressed, if a second trial of each fixture agrees on each side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from gateval.domain.trials.trial import Side


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
    if not units or not _has(units, test.looks[0]):
        return None
    if planned.deterministic and all(one.alike for one in units):
        return _exactly(test, units)
    axis = Axis(test.looks, test.share, test.least_drop)
    said: Broad | None = None
    scores = [(one.base, one.head) for one in units]
    for index, look in enumerate(test.looks):
        if not _has(units, look):
            break
        said = axis_step(axis, index, scores, found=found)
        if said.step is not LookResult.GO_ON:
            break
    return said.model_copy(update={"axis": test.axis}) if said else None


def _has(units: Sequence[AxisUnit], look: Look) -> bool:
    return all(len(one.base) >= look.base and len(one.head) >= look.head for one in units)


def _exactly(test: Joint, units: Sequence[AxisUnit]) -> Broad:
    base, head = (
        fsum(score or 0.0 for score in first) / len(units)
        for first in ([one.base[0] for one in units], [one.head[0] for one in units])
    )
    worse = base - head >= test.least_drop
    step = LookResult.REGRESSED if worse else LookResult.STOP
    if worse and not _has(units, Look(base=AGREEING, head=AGREEING)):
        step = LookResult.GO_ON
    p_value = 0.0 if step is LookResult.REGRESSED else 1.0
    return Broad(step=step, p_value=p_value, base=base, head=head, axis=test.axis, exact=True)


Stored: TypeAlias = Mapping[tuple[str, str], int]
"""How many base trials are stored, by the Eval that measures a fixture, and the fixture."""


def broad_slippage(
    planned: PlannedEval, trials: Grouped, stored: Stored, *, found: bool
) -> tuple[tuple[Joint, Broad | None], ...]:
    """Return what the newest look of each test of several fixtures says, None for nothing.

    `found` says that one of them has regressed by itself, so that the Eval blocks anyway.
    """
    tests = planned.joint_tests
    owners = planned.owners() if tests else {}
    if planned.scoring.graded:
        return _graded(tests, planned, owners, trials, found=found)
    return tuple(
        (test, _newest(test, _sides(test, planned, owners, trials, stored), found=found))
        for test in tests
    )


def _graded(
    tests: Sequence[Joint],
    planned: PlannedEval,
    owners: dict[str, str],
    trials: Grouped,
    *,
    found: bool,
) -> tuple[tuple[Joint, Broad | None], ...]:
    """Look at whole scores first, then at each axis."""
    whole = [(t, _scores(t, planned, owners, trials, found=found)) for t in tests if not t.axis]
    found |= any(said is not None and said.step is LookResult.REGRESSED for _, said in whole)
    axes = [(t, axis_slippage(planned, t, trials, found=found)) for t in tests if t.axis]
    return (*whole, *axes)


class _Sides(NamedTuple):
    """The outcomes of one fixture, and how many of base's are stored."""

    base: Outcomes
    head: Outcomes
    stored: int

    def look(self, look: Look) -> Look:
        """The look at this fixture: all that is stored of base counts."""
        return Look(base=max(look.base, self.stored), head=look.head)

    def has(self, look: Look) -> bool:
        """Whether all trials of a look were made."""
        return len(self.base) >= look.base and len(self.head) >= look.head


def _sides(
    test: Joint, planned: PlannedEval, owners: dict[str, str], trials: Grouped, stored: Stored
) -> list[_Sides]:
    """The fixtures that take part: not what stands as regressed, nor where head is silent for a
    reason that another trial repeats, of which an answer of base decides.
    """
    known = {one.fixture for one in planned.standing}
    known |= {n for n in test.fixtures if repeats(trials.get((owners[n], n, Side.HEAD), ()))}
    return [
        _Sides(
            outcomes(trials.get((owners[name], name, Side.BASE), ())),
            outcomes(trials.get((owners[name], name, Side.HEAD), ())),
            stored.get((owners[name], name), 0),
        )
        for name in test.fixtures
        if name not in known
    ]


def _newest(test: Joint, sides: Sequence[_Sides], *, found: bool) -> Broad | None:
    said: Broad | None = None
    for index, look in enumerate(test.looks):
        if not all(one.has(one.look(look)) for one in sides):
            break
        strata = [first(one.look(look), one.base, one.head) for one in sides]
        said = broad_step(
            test.looks, index, strata, test.share, found=found, least_drop=test.least_drop
        ).model_copy(update={"family": test.family})
        if said.step is LookResult.REGRESSED and any(one.stored for one in sides):
            return _borne_out(said, look, sides)
        if said.step is not LookResult.GO_ON:
            break
    return said


def _borne_out(alarm: Broad, look: Look, sides: Sequence[_Sides]) -> Broad:
    """Return what becomes of an alarm that rests on stored trials, once base as it is now is known.

    The first fresh trials of every fixture take part, whatever they were made for.
    """
    if not all(one.has(Look(base=one.stored + CONFIRMING_TRIALS, head=1)) for one in sides):
        return alarm.model_copy(update={"step": LookResult.GO_ON, "confirming": True})
    fresh = [
        (
            counted(one.base[one.stored : one.stored + CONFIRMING_TRIALS]),
            counted(one.head[: look.head]),
        )
        for one in sides
    ]
    if confirmed(fresh):
        return alarm
    return alarm.model_copy(update={"step": LookResult.STOP, "outdated": True})


def _scores(
    test: Joint, planned: PlannedEval, owners: dict[str, str], trials: Grouped, *, found: bool
) -> Broad | None:
    """Return what the newest look says of scores, none of which is stored."""
    said: Broad | None = None
    known = {one.fixture for one in planned.standing}
    base, head = (
        [
            grades(trials.get((owners[name], name, side), ()))
            for name in test.fixtures
            if name not in known
        ]
        for side in (Side.BASE, Side.HEAD)
    )
    units = list(zip(base, head, strict=True))
    for index, look in enumerate(test.looks):
        if any(len(old) < look.base or len(new) < look.head for old, new in units):
            break
        said = graded_broad_step(
            test.looks, index, units, test.share, found=found, least_drop=test.least_drop
        ).model_copy(update={"family": test.family})
        if said.step is not LookResult.GO_ON:
            break
    return said
