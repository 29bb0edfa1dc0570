"""A report seen fixture by fixture: what the comment, the terminal and JUnit all show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gateval.domain.base import known_of_last
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import AgentChange
from gateval.domain.plan.planned_eval import KnownRegression, PlannedEval, Reason
from gateval.domain.plan.sealing import SEALED
from gateval.domain.problems import SourceLocation
from gateval.domain.results.averages import group_trials
from gateval.domain.results.comparison import FixtureComparison, FixtureStatus
from gateval.domain.text import listing
from gateval.domain.trials.trial import Assessment, Side, Trial
from gateval.render.report.wording import what_happened

if TYPE_CHECKING:
    from gateval.domain.decision.decision import Report

_WORST_FIRST = (False, None, True)


@dataclass(frozen=True)
class FixtureFacts:
    """One fixture of one Eval: what was planned, its trials on both sides, and how they compare."""

    planned: PlannedEval
    fixture: Fixture
    compared: FixtureComparison
    head: tuple[Trial, ...]
    base: tuple[Trial, ...]

    @cached_property
    def status(self) -> FixtureStatus:
        """Where it is shown."""
        return self.compared.status

    @cached_property
    def worst(self) -> Trial | None:
        """Head's repetition that says most about what is wrong; None when none ran."""
        return min(
            self.head,
            key=lambda t: (_WORST_FIRST.index(t.passed), t.score or 0.0, t.key.repetition),
            default=None,
        )

    @property
    def stands(self) -> KnownRegression | None:
        """What an earlier run found of it, which stands: then this run did not measure it."""
        return self.planned.stands(self.fixture.name)

    @property
    def failed_before(self) -> bool:
        """Whether it did not pass on base either."""
        base = self.compared.base_all
        return base is not None and not base.passes

    @property
    def why(self) -> str:
        """Why it did not pass, where no assertion of this run says so: the reason of the trial, or
        what failed in the earlier run whose finding stands.
        """
        if (stands := self.stands) is not None:
            return stands.says or "The record of the run that found it does not keep what failed."
        return self.worst.reason if self.worst else ""

    @cached_property
    def broken(self) -> tuple[Assessment, ...]:
        """The assessments of `worst` that did not pass; sealed ones that read alike count once."""
        found = broken(self.worst)
        if not self.planned.sealed:
            return found
        first: dict[tuple[str, str], Assessment] = {}
        for one in found:
            first.setdefault((self.label(one), one.status), one)
        return tuple(first.values())

    @property
    def wavering(self) -> tuple[int, int]:
        """How many judgements changed when the judge was shown the same again, of how many."""
        again = [
            one.wavered
            for trial in (*self.head, *self.base)
            for one in trial.assessments
            if one.again is not None
        ]
        return sum(again), len(again)

    @property
    def told(self) -> tuple[Assessment, ...]:
        """The same, each followed by the parts that decided it: see `told`."""
        return tuple(told(self.broken))

    def label(self, assessment: Assessment) -> str:
        """What an assertion is called: its type, of a benchmark's criterion or a scorer its name
        first, of a sealed one its axis last.
        """
        asked = self.fixture.assertions[assessment.index : assessment.index + 1]
        name, axis = (asked[0].name, asked[0].axis) if asked else ("", None)
        if assessment.type == SEALED:
            return f"{SEALED}, {axis}" if axis else SEALED
        if not self.planned.scoring.model.named or not name or name == assessment.type:
            return assessment.type
        return f"{name} ({assessment.type})"

    def ended(self, assessment: Assessment) -> str:
        """How an assertion ended, as its Eval counts it."""
        return what_happened(assessment, graded=self.planned.scoring.graded)

    def place_of(self, assessment: Assessment) -> SourceLocation:
        """Where the assertion stands; of a case in a file of its own, the case's line there."""
        fixture, assertions = self.fixture, self.fixture.assertions
        if assessment.index >= len(assertions):
            return fixture.place
        place = assertions[assessment.index].part(assessment.at).place
        return fixture.place if fixture.family and place.file != fixture.place.file else place

    def place(self, assessment: Assessment) -> str:
        """Where the assertion stands, as `file:line`."""
        place = self.place_of(assessment)
        return f"{place.file}:{place.line}"

    @property
    def first_place(self) -> SourceLocation:
        """Where the first assertion stands that did not pass, else the fixture."""
        return self.place_of(self.broken[0]) if self.broken else self.fixture.place


def broken(trial: Trial | None) -> tuple[Assessment, ...]:
    """Return the assessments of a trial that did not pass."""
    if trial is None:
        return ()
    return tuple(a for a in trial.assessments if not a.passed)


def told(assessments: Iterable[Assessment]) -> Iterator[Assessment]:
    """Yield assessments, each followed by the parts that decided it, as `any › contains`."""
    for one in assessments:
        yield one
        yield from told(
            part.replace(
                type=f"{one.type} \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} {part.type}"
            )
            for part in one.parts
        )


@known_of_last
def gather(report: Report) -> tuple[FixtureFacts, ...]:
    """Return the facts of all fixtures in the plan's order."""
    trials = group_trials(report.results.trials)
    return tuple(
        FixtureFacts(
            planned,
            fixture,
            compared,
            trials.get((planned.name, fixture.name, Side.HEAD), ()),
            trials.get((planned.name, fixture.name, Side.BASE), ()),
        )
        for planned, eval_compared in zip(
            report.results.plan.evals, report.comparison.evals, strict=True
        )
        for fixture, compared in zip(planned.fixtures, eval_compared.fixtures, strict=True)
        if planned.measured_by(fixture.name) == planned.name  # else it stands there already
    )


def worst_first(facts: Iterable[FixtureFacts]) -> Sequence[FixtureFacts]:
    """Sort by weight of severity, then by head's pass rate; otherwise the plan's order stays."""
    return sorted(facts, key=lambda f: (-f.compared.head.weight, f.compared.head.low))


_ORDER = tuple(FixtureStatus)


def in_order(facts: Iterable[FixtureFacts]) -> Sequence[FixtureFacts]:
    """Return fixtures as a list has them: by what is wrong, worst first."""
    return sorted(worst_first(facts), key=lambda one: _ORDER.index(one.status))


def with_status(facts: Iterable[FixtureFacts], *which: FixtureStatus) -> Sequence[FixtureFacts]:
    """Return the fixtures of these statuses, worst first."""
    return worst_first(f for f in facts if f.status in which)


class SilentAgent(NamedTuple):
    """An Agent that does not answer on head, with the fixtures on which base does."""

    agent: str
    facts: Sequence[FixtureFacts]


def silent_agents(facts: Iterable[FixtureFacts]) -> Sequence[SilentAgent]:
    """Return the Agents that no longer answer, with their fixtures worst first."""
    found: dict[str, list[FixtureFacts]] = {}
    for fact in with_status(facts, FixtureStatus.SILENT):
        found.setdefault(fact.planned.agent, []).append(fact)
    return [SilentAgent(agent, mine) for agent, mine in found.items()]


class Frame(NamedTuple):
    """`unverified` is the sentence that says why the results are only a claim, empty if they are
    none. `run_url` leads to the run's log, `files_url` to what it uploads of the results; each is
    empty when there is none. `may_bypass` are the
    roles whose label lets a revision through, for a pull request. `anchor` is number and hash of
    the audit log's entry about this verdict; None when this run wrote none. `unkept` is the
    sentence that says that the verdict could not be recorded, empty if it was. `report_url` is
    where a browser opens the report of this run, `tree_url` where head's files can be seen; empty
    if nowhere. `report_lost` says that there is a report which nothing took.
    """

    unverified: str = ""
    run_url: str = ""
    files_url: str = ""
    may_bypass: tuple[str, ...] = ()
    anchor: tuple[int, str] | None = None
    tree_url: str = ""
    unkept: str = ""
    report_url: str = ""
    report_lost: bool = False


PLAIN = Frame()
"""A run on somebody's own machine."""


FEW = 12
"""Causes that a reader takes in. Where there are more, fixtures are put together more coarsely."""


class PromptEdit(NamedTuple):
    """An Agent whose prompt differs: a unified diff of base and head, and where head's stands.

    `where` is a path, or a path with a line after a colon; empty if nobody noted it.
    """

    agent: str
    where: str
    lines: Sequence[str]

    @property
    def diff(self) -> str:
        """The diff as text."""
        return "\n".join(self.lines)

    def count(self, sign: str) -> int:
        """How many lines begin with `+`, or with `-`."""
        return sum(line.startswith(sign) for line in self.lines)


class FileDiff(NamedTuple):
    """The changed lines of a file that an Agent depends on; `note` says what of them is missing."""

    reason: Reason
    lines: Sequence[str]
    note: str

    @property
    def name(self) -> str:
        """The file, and what was done to it."""
        return str(self.reason)

    @property
    def diff(self) -> str:
        """The lines as text."""
        return "\n".join(self.lines)


class FailureGroup(NamedTuple):
    """Fixtures that fail alike, worst first. `alike` says how: empty for equally.

    `edit`, `files` and `change` are what the revision does to the Agent of the first, to its
    prompt, to files and else, where that is to stand beside it.
    """

    facts: Sequence[FixtureFacts]
    alike: str = ""
    edit: PromptEdit | None = None
    files: Sequence[FileDiff] = ()
    change: AgentChange | None = None

    @property
    def first(self) -> FixtureFacts:
        """The fixture that is told in full."""
        return self.facts[0]

    @property
    def others(self) -> Sequence[FixtureFacts]:
        """Those of which it is enough to say that they fail alike."""
        return self.facts[1:]

    @property
    def same(self) -> str:
        """How many others fail alike, and how much alike, in words."""
        number = f"{len(self.others):,} more"
        of = f" of {listing(self.agents, 3)}" if len(self.agents) > 1 else ""
        return f"In {number}{of}, {self.alike}" if self.alike else f"The same in {number}{of}"

    @property
    def agents(self) -> Sequence[str]:
        """The Agents that fail so."""
        return list(dict.fromkeys(fact.planned.agent for fact in self.facts))


def causes(facts: Sequence[FixtureFacts]) -> Sequence[FailureGroup]:
    """Put facts of all Agents together in which the same assertions fail, in their order.

    What was seen does not count, nor do numbers in what was expected, nor what else an assertion
    that is written once expects of each case: it is the answer that differs there, or the case. Of
    a judge, the rules count that it found broken, else its sentence. With more than `FEW` causes,
    other values do not count either; then, only the types of assertions.
    """
    found: Sequence[Sequence[FixtureFacts]] = ()
    for level in _LEVELS[_NUMBERS:]:
        groups: dict[object, list[FixtureFacts]] = {}
        written: dict[object, str] = {}
        for fact in facts:
            groups.setdefault(_signature(fact, level, written), []).append(fact)
        found = list(groups.values())
        if len(found) <= FEW:
            break
    return [FailureGroup(mine, _alike(mine)) for mine in found]


def _signature(fact: FixtureFacts, level: _Level, written: dict[object, str]) -> object:
    """Return what stands for the cause of a failure; `written` has the assertions seen so far."""
    if not fact.broken:
        return level.text(fact.why)
    return tuple(sorted({(one.type, _cause(fact, one, level, written)) for one in fact.broken}))


def _cause(fact: FixtureFacts, one: Assessment, level: _Level, written: dict[object, str]) -> str:
    text = level.text(_asked(one, level))
    if one.verdict is not None or one.index >= len(fact.fixture.assertions):
        return text
    place = fact.fixture.assertions[one.index].part(one.at).place
    return written.setdefault((place.file, place.line, one.index, one.at), text)


def _alike(facts: Sequence[FixtureFacts]) -> str:
    """Return how much these have in common."""
    for level in _LEVELS:
        if len({_signature(fact, level, {}) for fact in facts}) == 1:
            return level.alike
    return ""


def _asked(assessment: Assessment, level: _Level) -> str:
    """What was expected, without what was seen; of a judge, the rules that it found broken, or what
    it said where it names none.
    """
    if not level.alike:
        return assessment.reason
    if (verdict := assessment.verdict) is not None:
        return "; ".join(sorted({one.rule for one in verdict.violations})) or verdict.summary
    return expected_and_saw(assessment.reason)[0]


def expected_and_saw(reason: str) -> tuple[str, str]:
    """Return what a reason says was expected, and what was seen; empty where it does not say."""
    expected, _, saw = reason.partition(", saw ")
    return expected, saw


class _Level(NamedTuple):
    """How much has to be equal, in words, and what is left of a text for that."""

    alike: str
    text: Callable[[str], str]


def _without(pattern: str) -> Callable[[str], str]:
    found = re.compile(pattern)
    return lambda text: found.sub("\N{HORIZONTAL ELLIPSIS}", text)


_LEVELS = (
    _Level("", str),
    _Level("the same is expected, and something else seen", str),
    _Level("the same is expected, with other numbers", _without(r"\d+")),
    _Level("the same is expected, with other values", _without(r'"[^"]*"|`[^`]*`|/.*/|\d+')),
    _Level("the same types of assertions fail", lambda _: ""),
)

_NUMBERS = 2
"""The level of a cause."""
