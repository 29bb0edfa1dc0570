"""Scores by axis, of benchmarks and of experiments, in the words of their documents.

Before is base where the run measured it, else the newest set of the experiment's history. A colour
says which way an average went; what blocks is said apart, and decided by the rule for regressions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.decision.decision import Report
from gateval.domain.manifests.fixture import show_axis
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import (
    EarlierSet,
    Grouped,
    ScorerAverage,
    averages,
    differences,
    group_trials,
    people,
)
from gateval.domain.results.comparison import AxisComparison, FixtureChange
from gateval.domain.results.results import BenchmarkRun, RunStatus, TaskPhase, run_of
from gateval.domain.text import listing
from gateval.domain.trials.trial import Assessed, Side
from gateval.render.report.facts import FixtureFacts
from gateval.render.report.wording import count


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
        for one in compared.named_axes
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


_NAMED = 3
"""Tasks that are named of those that were started and not completed."""


def benchmark_lines(report: Report) -> list[str]:
    """Return e.g. `desk@2: completed; 3 tasks: 1 pass, 1 partial, 1 fail, of these 1 timed out`."""
    results = report.results
    return [
        _line(planned, run_of(results, planned))
        for planned in results.plan.evals
        if planned.scoring.model.tasks
    ]


def _line(planned: PlannedEval, run: BenchmarkRun) -> str:
    total = count(len(run.tasks), "task")
    done = f"{run.completed} of {total} completed" if run.completed < len(run.tasks) else total
    said = f"{planned.shown_name}: {run.status.value.replace('_', ' ')}; {done}"
    verdicts = Counter(one.verdict for one in run.tasks)
    grades = [one.name for one in planned.scoring.model.grades]
    parts = [f"{verdicts[one]} {one}" for one in grades if verdicts[one]]
    lost = sum(one.phase is TaskPhase.COMPLETED and one.score is None for one in run.tasks)
    parts += [f"{lost} not measured"] if lost else []
    late = sum(one.status is RunStatus.TIMED_OUT and one.score is not None for one in run.tasks)
    parts += [f"{late} timed out"] if late else []
    said += f": {', '.join(parts)}" if parts else ""
    kept = run.status is not RunStatus.COMPLETED and run.completed
    said += "; what was completed is kept" if kept else ""
    begun = [one.task for one in run.tasks if one.phase is TaskPhase.STARTED]
    return f"{said}; started, not completed: {listing(begun, _NAMED)}" if begun else said


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
    def moves(self) -> bool:
        """Whether there is anything to say of it: it is not just as it was before."""
        still = self.delta is not None and abs(self.delta) < _ROUNDING
        return not (still and self.said in {"", FixtureChange.UNCHANGED.value})

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
    """A set: its Eval's kind and name, what it is held against in a phrase, and its scorers."""

    kind: str
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
    return ExperimentSet(planned.kind, planned.shown_name, against, tuple(lines))


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
