"""Head against base, fixture by fixture. The fixture is the unit; repetitions stay inside it.

Fixtures are paired, as everywhere: each one's mean over the planned repetitions on head, by that on
base. Repetitions that were added because something looked worse never count: they are selected.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

from pydantic import Field

from gateval.domain.base import Count, Positive, Value, Word, plentiful
from gateval.domain.manifests.fixture import named_axes
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import Baseline, PlannedEval, Removed
from gateval.domain.results.averages import LOST_SHARE, Grouped
from gateval.domain.results.scoring import EvalScore, FixtureScore
from gateval.domain.statistics.broad import Broad
from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.preference import Preferences
from gateval.domain.statistics.walk import Ratio, paired_ratio
from gateval.domain.trials.trial import Cause, Side, Trial
from gateval.domain.verdicts import Measured

CHANCE = 0.05
"""P(any interval of a run misses its true ratio) is at most this, over all that have a limit."""


class Measure(Word):
    """The subject of a rise."""

    COST = "cost"
    LATENCY = "latency"


class Unit(Word):
    """What a rise is counted in; tokens where nobody knows the money."""

    USD = "US dollars"
    TOKENS = "tokens"
    SECONDS = "seconds"


class Rise(Value):
    """A measure of an Eval, head against base.

    `ratio` is None where nothing can be compared, and `unknown` says why. `zeros` counts the
    fixtures that cost nothing on one side alone, of which there is no ratio.
    """

    eval: str
    measure: Measure
    unit: Unit
    ratio: Ratio | None = None
    zeros: int = 0
    unknown: str = ""

    def over(self, limit: float) -> bool:
        """Whether more than chance puts it above a limit: its whole interval lies there."""
        return self.ratio is not None and (self.ratio.low or 0.0) > limit


def rises(plan: Plan, trials: Grouped) -> Iterator[Rise]:
    """Yield both measures of each Eval that is measured on two sides."""
    policy = plan.policy
    limits = {Measure.COST: policy.cost.max_ratio, Measure.LATENCY: policy.latency.max_ratio}
    compared = [one for one in plan.evals if Side.BASE in one.sides and one.bar is None]
    asked = sum(limit is not None for limit in limits.values()) * len(compared)
    level = 1 - CHANCE / max(1, asked)
    for planned in compared:
        pairs = _pairs(planned, trials)
        yield _cost(planned, pairs, level)
        yield _rise(planned, Measure.LATENCY, Unit.SECONDS, pairs, _seconds, level)


_UNANSWERED = "no fixture was answered on both sides"
_NOTHING = "no fixture took anything on both sides"

_Trials = Sequence[Trial]
_Pairs = Sequence[tuple[_Trials, _Trials]]


def _pairs(planned: PlannedEval, trials: Grouped) -> _Pairs:
    """Return the answered trials of base and head, of each fixture that has both."""
    found = []
    for fixture in planned.fixtures:
        sides = []
        for side in (Side.BASE, Side.HEAD):
            mine = trials.get((planned.measured_by(fixture.name), fixture.name, side), ())
            most = planned.execution.reps_per_fixture
            counted = [t for t in mine if t.key.repetition <= most and t.output is not None]
            sides.append(counted)
        if all(sides):
            found.append((sides[0], sides[1]))
    return found


def _cost(planned: PlannedEval, pairs: _Pairs, level: float) -> Rise:
    every = [trial for pair in pairs for side in pair for trial in side]
    if every and all(trial.usage.usd is not None for trial in every):
        found = _rise(planned, Measure.COST, Unit.USD, pairs, _usd, level)
        if found.ratio or found.zeros:
            return found
    if all(trial.usage.total is not None for trial in every):
        return _rise(planned, Measure.COST, Unit.TOKENS, pairs, _tokens, level)
    why = "nobody counted the tokens of all answers"
    return Rise(eval=planned.name, measure=Measure.COST, unit=Unit.TOKENS, unknown=why)


def _rise(
    planned: PlannedEval,
    measure: Measure,
    unit: Unit,
    pairs: _Pairs,
    amount: Callable[[Trial], float],
    level: float,
) -> Rise:
    means = [(fmean(map(amount, base)), fmean(map(amount, head))) for base, head in pairs]
    known = [(base, head) for base, head in means if base > 0 and head > 0]
    ratio = paired_ratio(known, level)
    return Rise(
        eval=planned.name,
        measure=measure,
        unit=unit,
        ratio=ratio,
        zeros=sum((base > 0) is not (head > 0) for base, head in means),
        unknown="" if ratio else _NOTHING if means else _UNANSWERED,
    )


def _usd(trial: Trial) -> float:
    return trial.usage.usd or 0.0


def _tokens(trial: Trial) -> float:
    return float(trial.usage.total or 0)


def _seconds(trial: Trial) -> float:
    return trial.own_seconds


class FixtureChange(Word):
    """How a fixture moved from base to head."""

    REGRESSED = "regressed"
    SUSPECT = "suspect"
    NOT_CONFIRMED = "not confirmed"
    UNCHANGED = "unchanged"
    IMPROVED = "improved"
    NEW = "new"
    REMOVED = "removed"
    UNRELIABLE_BASELINE = "unreliable baseline"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARED = "not compared"


class Repeated(Value):
    """All trials of one fixture on one side that the rule looked at.

    `passes` of `trials` measured ones; in `silent` of these the candidate gave no answer; `lost`
    ones say nothing. `mean` is that of their scores in the weighted model, None in the other.
    `free` says that no score is asked of a trial: each with an answer passes.
    """

    passes: int = 0
    trials: int = 0
    silent: int = 0
    lost: int = 0
    mean: float | None = None
    free: bool = False

    @property
    def unclear(self) -> bool:
        """Whether more trials were lost than may be."""
        return self.lost > LOST_SHARE * (self.trials + self.lost)


class FixtureStatus(Word):
    """Where a fixture is shown, most urgent first. Each fixture has exactly one status."""

    REGRESSED = "regressed"
    SILENT = "does not answer"
    SUSPECT = "looks worse"
    FAILING = "failing"
    UNMEASURED = "not measured"
    IMPROVED = "improved"
    PASSING = "passing"

    @property
    def fine(self) -> bool:
        """Whether nothing is wrong with it."""
        return self in {FixtureStatus.IMPROVED, FixtureStatus.PASSING}


@plentiful
class FixtureComparison(Value):
    """One fixture, head against base.

    `head` and `base` count the repetitions that make up the score; `head_all` and `base_all` those
    that the comparison rests on. `no_answer` says that head gave no answer at all where base did.
    `baseline_gap` says that lost or missing base trials could have changed the status. `exact` says
    that the candidates proved to be deterministic. `found_at` is when an earlier run found it
    regressed, which stands, `found_on` at which commit; empty if this run measured it. `missing`
    trials of head are asked for and did not run, and `missing_base` ones to compare with. `cut`
    says that it looks worse, and
    that the budget of the run left nothing to look again. `stored` of base's trials were made by
    earlier runs; `outdated` says that these call head worse and base as it is now does not.
    `refused` says why no model answered a silent head's calls; empty where that is not why.
    """

    fixture: str
    change: FixtureChange
    head: FixtureScore
    base: FixtureScore | None = None
    head_all: Repeated = Repeated()
    base_all: Repeated | None = None
    no_answer: bool = False
    baseline_gap: bool = False
    exact: bool = False
    missing: int = 0
    missing_base: int = 0
    first_passed: bool = False
    found_at: str = ""
    found_on: str = Field(default="", exclude_if=operator.not_)
    cut: bool = False
    stored: int = 0
    outdated: bool = False
    refused: str = ""

    @property
    def may_hide_break(self) -> bool:
        """Whether head might turn out broken, if all that was lost took the worst outcome."""
        return self.base is not None and self.head.passed == 0 and self.base.failed == 0

    @property
    def silent(self) -> bool:
        """Whether head answered in no trial that was measured, though there are some."""
        return self.head_all.silent == self.head_all.trials > 0

    @property
    def status(self) -> FixtureStatus:
        """Where it is shown."""
        if self.no_answer:
            return FixtureStatus.SILENT
        if self.change is FixtureChange.REGRESSED:
            return FixtureStatus.REGRESSED
        if self.change in {FixtureChange.SUSPECT, FixtureChange.NOT_CONFIRMED}:
            return FixtureStatus.SUSPECT
        if self.silent:
            return FixtureStatus.UNMEASURED
        if self.head.failed:
            return FixtureStatus.FAILING
        if not self.head.measured or self.change is FixtureChange.INCONCLUSIVE:
            return FixtureStatus.UNMEASURED
        improved = self.change is FixtureChange.IMPROVED
        return FixtureStatus.IMPROVED if improved else FixtureStatus.PASSING


class AxisComparison(Value):
    """One axis of an Eval's scores, head against base.

    `head` and `base` are means over the fixtures that it has a say in, in [0, 1], of the planned
    repetitions; None where none of these was measured. `fixtures` counts them all, `measured` those
    of head, `measured_base` those of base. `said` is what its own test says, None without one.
    """

    axis: str
    change: FixtureChange
    head: float | None
    base: float | None = None
    fixtures: Positive
    measured: Count
    measured_base: Count = 0
    said: Broad | None = None


class PreferenceComparison(Value):
    """What judges prefer in an Eval: head's answers or base's.

    `said` is about the pairs that were measured, of `planned` in all. `why` is what kept the first
    of the others from it, and `cause` whose fault that is.
    """

    change: FixtureChange
    said: Preferences
    planned: Count
    why: str = ""
    cause: Cause | None = None


class EvalComparison(Value):
    """One Eval, head against base; `fixtures` in the plan's order.

    `head` is the score that decides. `head_first` is made of the planned repetitions, as `base`
    is. `broad` is what all fixtures together say, None where that was not looked at;
    `families` what the cases of each file say, `axes` how each axis of scores moved, `preference`
    which side's answers a judge prefers, None where nothing asks for that. `cut` says that they
    look worse together, and that the budget left nothing to look again. `unanswered` says that no
    trial has an answer, on any side that was measured.
    """

    eval: str
    agent: str
    baseline: Baseline
    unanswered: bool = False
    head: EvalScore
    base: EvalScore | None = None
    fixtures: tuple[FixtureComparison, ...]
    broad: Broad | None = None
    families: tuple[Broad, ...] = ()
    axes: tuple[AxisComparison, ...] = ()
    preference: PreferenceComparison | None = None
    head_first: EvalScore
    cut: bool = False

    @property
    def delta(self) -> float | None:
        """Head's score minus base's on equal repetitions, in [-1, 1]; None unless measured."""
        head, base = self.head_first.score, self.base and self.base.score
        if not (isinstance(head, Measured) and isinstance(base, Measured)):
            return None
        return head.value - base.value

    @property
    def named_axes(self) -> tuple[AxisComparison, ...]:
        """Its axes, where assertions name any."""
        return self.axes if named_axes([one.axis for one in self.axes]) else ()

    @property
    def dead(self) -> bool:
        """Whether there are answers and nothing passes on either side; of scores, all are 0.

        No drop can be seen from there.
        """
        if self.base is None or self.unanswered:
            return False
        compared = [of for of in self.fixtures if of.change is not FixtureChange.NEW]
        head = [of.head_all for of in compared]
        base = [of.base_all for of in compared if of.base_all]
        measured = any(one.trials for one in head) and any(one.trials for one in base)
        if not measured or any(of.no_answer for of in self.fixtures):
            return False
        graded = self.head.model.graded
        return not any(one.mean if graded else one.passes for one in (*head, *base))

    @property
    def regressed(self) -> bool:
        """Whether a fixture of it regressed, or all together."""
        return self.slipped or any(
            fixture.change is FixtureChange.REGRESSED for fixture in self.fixtures
        )

    @property
    def slipped(self) -> bool:
        """Whether its fixtures together are worse than before."""
        preferred = self.preference and self.preference.change
        return preferred is FixtureChange.REGRESSED or any(
            one.step is LookResult.REGRESSED for one in self.together
        )

    @property
    def together(self) -> tuple[Broad, ...]:
        """What tests of several fixtures say, that of all first, those of axes last."""
        axes = (one.said for one in self.axes if one.said is not None)
        return (*((self.broad,) if self.broad else ()), *self.families, *axes)


class Comparison(Value):
    """All Evals of a run, in the plan's order, what head no longer runs, what costs and time do."""

    evals: tuple[EvalComparison, ...] = ()
    removed: tuple[Removed, ...] = ()
    rises: tuple[Rise, ...] = ()

    @property
    def regressed(self) -> tuple[str, ...]:
        """The fixtures that regressed, each once, in whatever Evals and versions of them it did."""
        found = (one for compared in self.evals for one in compared.fixtures)
        return distinct(one.fixture for one in found if one.change is FixtureChange.REGRESSED)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return names in their order, each once."""
    return tuple(dict.fromkeys(names))
