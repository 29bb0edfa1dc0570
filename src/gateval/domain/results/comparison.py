"""Head against base, fixture by fixture. The fixture is the unit; repetitions stay inside it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.plan.bar import Baseline
from gateval.domain.plan.planned_eval import Removed
from gateval.domain.results.grouping import LOST_SHARE
from gateval.domain.results.rises import Rise
from gateval.domain.results.scoring import EvalScore, FixtureScore
from gateval.domain.score import Measured
from gateval.domain.statistics.broad import Broad
from gateval.domain.statistics.design import LookResult


class FixtureChange(StrEnum):
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


class FixtureComparison(Value):
    """One fixture, head against base.

    `head` and `base` count the repetitions that make up the score; `head_all` and `base_all` those
    that the comparison rests on. `no_answer` says that head gave no answer at all where base did.
    `baseline_gap` says that lost or missing base trials could have changed the status. `exact` says
    that the candidates proved to be deterministic. `found_at` is when an earlier run found it
    regressed, which stands; empty if this run measured it. `missing` trials of head are asked for
    and did not run, and `missing_base` ones to compare with. `cut` says that it looks worse, and
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
    fixtures: int = Field(ge=1)
    measured: int = Field(ge=0)
    measured_base: int = Field(default=0, ge=0)
    said: Broad | None = None


class EvalComparison(Value):
    """One Eval, head against base; `fixtures` in the plan's order.

    `head` is the score that decides. `head_first` is made of the planned repetitions, as `base`
    is. `broad` is what all fixtures together say, None where that was not looked at;
    `families` what the cases of each file say, `axes` how each axis of scores moved. `cut` says
    that they look worse together, and that the budget left nothing to look again. `unanswered` says
    that no trial has an answer, on any side that was measured.
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
        return any(one.step is LookResult.REGRESSED for one in self.together)

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
