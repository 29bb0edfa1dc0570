"""What a report says by axis: how often its assertions passed, or its score if trials have some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from gateval.domain.decision.report import Report
from gateval.domain.manifests.axes import DEFAULT_AXIS, show_axis
from gateval.domain.results.comparison import AxisComparison, FixtureChange
from gateval.domain.trials.trial import Assessed, Side
from gateval.render.report.facts import FixtureFacts


class AxisShare(NamedTuple):
    """The assertions of one axis in the planned repetitions: passed, and measured, on each side."""

    axis: str
    head: tuple[int, int]
    base: tuple[int, int]

    @property
    def sides(self) -> tuple[str, str]:
        """Both as text, head first: `3 of 4`, or a dash where nothing was measured."""
        head, base = (
            f"{passed:,} of {measured:,}" if measured else "\N{EN DASH}"
            for passed, measured in (self.head, self.base)
        )
        return head, base

    def __str__(self) -> str:
        head, base = self.sides
        return f"{self.axis}: {head} assertions passed on head, {base} on base"


_MOVED = {
    FixtureChange.REGRESSED: "fell",
    FixtureChange.SUSPECT: "looks worse",
    FixtureChange.NOT_CONFIRMED: "looks worse",
    FixtureChange.IMPROVED: "rose",
}


_SHOWN = 0.005
"""A difference that two decimals show."""


class AxisLine(NamedTuple):
    """The scores of one axis of one Eval, as text."""

    eval: str
    axis: str
    head: str
    base: str
    words: str

    def __str__(self) -> str:
        what = f"{self.eval}, {self.axis}: {self.head}"
        return f"{what}; base {self.base}; {self.words}" if self.words else what


def score_lines(report: Report) -> tuple[AxisLine, ...]:
    """Return the scores of all axes of Evals with scores, where they name any."""
    plan = report.results.plan
    return tuple(
        AxisLine(
            plan.eval(compared.eval).shown_name,
            show_axis(one.axis),
            _shown(one.head, one.measured, one.fixtures),
            _shown(one.base, one.measured_base, one.fixtures),
            said_of(one) if compared.base is not None else "",
        )
        for compared in report.comparison.evals
        if not compared.head.model.scorers  # which have a table of their own
        if any(one.axis != DEFAULT_AXIS for one in compared.axes)
        for one in compared.axes
    )


def said_of(compared: AxisComparison) -> str:
    """Return what the rule for regressions says of an axis; a difference is never `unchanged`."""
    if compared.head is None:
        return FixtureChange.INCONCLUSIVE.value
    if compared.change is FixtureChange.NOT_COMPARED and compared.base is not None:
        return "no test of its own"
    scores = (compared.head, compared.base or 0.0)
    if compared.change is FixtureChange.UNCHANGED and abs(scores[0] - scores[1]) >= _SHOWN:
        return "could be chance"
    return compared.change.value


def moved(report: Report) -> tuple[str, ...]:
    """Return a sentence for each Eval with axes that moved: `desk: safety fell, quality rose`."""
    plan, said = report.results.plan, []
    for compared in report.comparison.evals:
        axes = [one for one in compared.axes if one.change in _MOVED and one.said is not None]
        words = [f"{show_axis(one.axis)} {_MOVED[one.change]}" for one in axes]
        if words:
            said.append(f"{plan.eval(compared.eval).shown_name}: {', '.join(words)}")
    return tuple(said)


def _shown(score: float | None, measured: int, fixtures: int) -> str:
    if score is None:
        return "not measured"
    return f"{score:.2f}" if measured == fixtures else f"{score:.2f} in {measured} of {fixtures}"


def by_axis(facts: Iterable[FixtureFacts]) -> tuple[AxisShare, ...]:
    """Return the axes that assertions of Evals without scores name, in the order of the plan."""
    passed: Counter[tuple[str, Side]] = Counter()
    measured: Counter[tuple[str, Side]] = Counter()
    axes: dict[str, None] = {}
    for fact in facts:
        if fact.planned.scoring.graded:
            continue
        specs = fact.fixture.assertions
        axes.update({spec.axis: None for spec in specs if spec.axis})
        planned = fact.planned.execution.reps_per_fixture
        trials = [one for one in (*fact.head, *fact.base) if one.key.repetition <= planned]
        for trial in trials:
            for one in trial.assessments:
                axis = specs[one.index].axis if one.index < len(specs) else None
                if axis and isinstance(one, Assessed):
                    measured[axis, trial.key.side] += 1
                    passed[axis, trial.key.side] += one.passed
    return tuple(
        AxisShare(
            axis,
            (passed[axis, Side.HEAD], measured[axis, Side.HEAD]),
            (passed[axis, Side.BASE], measured[axis, Side.BASE]),
        )
        for axis in axes
    )
