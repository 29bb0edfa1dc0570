"""Experiments as people look at them: each scorer's average, and the difference to the one before.

Before is base where the run measured it, else the newest set of the experiment's history. A colour
says which way an average went; what blocks is said apart, and decided by the rule for regressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gateval.domain.decision.report import Report
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import (
    EarlierSet,
    ScorerAverage,
    averages,
    differences,
    people,
)
from gateval.domain.results.comparison import FixtureChange
from gateval.domain.results.grouping import Grouped, group_trials
from gateval.domain.trials.trial import Side
from gateval.render.report.scores.axes import said_of

UP, DOWN, SAME = "\N{LARGE GREEN CIRCLE}", "\N{LARGE RED CIRCLE}", "\N{MEDIUM WHITE CIRCLE}"

_ROUNDING = 1e-9


class ScorerLine(NamedTuple):
    """One scorer: its average now, and the difference to before, in [-1, 1], None where unknown.

    `said` is what the rule for regressions says of it, in a word; empty where it says nothing.
    """

    now: ScorerAverage
    delta: float | None
    said: str = ""

    @property
    def average(self) -> str:
        """The average in percent."""
        return percent(self.now.mean)

    @property
    def change(self) -> str:
        """A circle and the difference: green and up, red and down, white where there is none."""
        if self.delta is None:
            return SAME
        return f"{mark(self.delta)}{difference(self.delta)}"

    @property
    def rows(self) -> str:
        """How many rows were measured, of how many."""
        if self.now.measured == self.now.rows:
            return f"{self.now.rows:,}"
        return f"{self.now.measured:,} of {self.now.rows:,}"

    def __str__(self) -> str:
        lacking = "" if self.now.measured == self.now.rows else f", measured in {self.rows} rows"
        said = f", {self.said}" if self.said else ""
        shown = f"{self.now.scorer}: {self.average} ({self.change})"
        return f"\N{RIGHTWARDS ARROW} {shown}{lacking}{said}"


class ExperimentSet(NamedTuple):
    """A set: the experiment's name, what it is held against in a phrase, and its scorers."""

    name: str
    against: str
    lines: tuple[ScorerLine, ...]


def experiment_sets(report: Report) -> tuple[ExperimentSet, ...]:
    """Return the sets that a run measured, in the order of the plan."""
    plan, trials = report.results.plan, group_trials(report.results.trials)
    earlier = {one.eval: one for one in report.results.earlier}
    asked = [one for one in plan.evals if one.scoring.model.scorers and one.bar is None]
    return tuple(_set(report, one, trials, earlier.get(one.own_name)) for one in asked)


def _set(
    report: Report, planned: PlannedEval, trials: Grouped, earlier: EarlierSet | None
) -> ExperimentSet:
    now = averages(planned, Side.HEAD, trials)
    said = people(planned, Side.HEAD, trials)
    moved: Mapping[str, float] = {}
    if (found := differences(planned, trials)) and report.results.plan.base:
        moved, against = found, f"against base {report.results.plan.base.short}"
        if any(one.measured < one.rows for one in averages(planned, Side.BASE, trials)):
            against += ", in the rows that both measured"
    elif earlier is not None:
        moved, against = _since(now, earlier), f"against {_called(earlier)}"
    else:
        against = "the first set that is known here"
    rule = _rule(report, planned)
    lines = [ScorerLine(one, moved.get(one.scorer), rule.get(one.scorer, "")) for one in now]
    if said is not None:
        before = people(planned, Side.BASE, trials)
        lines.append(ScorerLine(said, _between(said, before)))
    return ExperimentSet(planned.shown_name, against, tuple(lines))


def _between(now: ScorerAverage, before: ScorerAverage | None) -> float | None:
    if before is None or before.mean is None or now.mean is None:
        return None
    return now.mean - before.mean


def _called(earlier: EarlierSet) -> str:
    """Return what an earlier set is called, with what makes it hard to compare with."""
    said = f"the set of {earlier.at[:16].replace('T', ' ')} at {earlier.revision}"
    if not earlier.same:
        return f"{said}, which had other rows or scorers"
    lacking = any(one.measured < one.rows for one in earlier.averages)
    return f"{said}, which did not measure every row" if lacking else said


def _since(now: Sequence[ScorerAverage], earlier: EarlierSet) -> Mapping[str, float]:
    """Return the differences to an earlier set, of the scorers that both have."""
    then = {one.scorer: one.mean for one in earlier.averages}
    pairs = {one.scorer: (one.mean, then.get(one.scorer)) for one in now}
    return {
        name: mean - before
        for name, (mean, before) in pairs.items()
        if mean is not None and before is not None
    }


def _rule(report: Report, planned: PlannedEval) -> Mapping[str, str]:
    """Return what the rule for regressions says of each scorer, where base was measured.

    Of a single scorer, it is what the rule says of the whole.
    """
    compared = next(one for one in report.comparison.evals if one.eval == planned.name)
    if compared.base is None:
        return {}
    if len(compared.axes) == 1 and compared.slipped:
        return {compared.axes[0].axis: FixtureChange.REGRESSED.value}
    silent = {FixtureChange.NOT_COMPARED, FixtureChange.INCONCLUSIVE}
    return {one.axis: said_of(one) for one in compared.axes if one.change not in silent}


def mark(delta: float) -> str:
    """Return the circle of a difference."""
    if abs(delta) < _ROUNDING:
        return SAME
    return UP if delta > 0 else DOWN


def difference(delta: float) -> str:
    """Return a difference with its sign and two decimals, more where these would be none."""
    if abs(delta) < _ROUNDING:
        return "0.00"
    return f"{delta:+.2f}" if abs(delta) >= 0.005 else f"{delta:+.1g}"


def percent(mean: float | None) -> str:
    """Return an average in percent with two decimals, a dash for an unknown one."""
    return "\N{EN DASH}" if mean is None else f"{100 * mean:.2f}%"
