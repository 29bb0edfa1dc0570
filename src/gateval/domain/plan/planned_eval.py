"""One Eval that will run: why, what the target branch asks of it, what is tested together, what
is stored.

The cases of one file are a family. Up to `ALONE_AT_MOST` of them are tested alone, too; beyond
that, the family is tested in one look at the planned trials, which has power enough: 201 cases
of rate .95 that fall by ten points are found in 19 of 20 runs, and a second look would cost
thousands of trials.

A quality that weighs little can fall while the whole stays as it is, so each axis of scores has a
test over all fixtures that have it. Where there is one axis only, the test of everything is that.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from gateval.domain.base import Count, Name, Positive, Sha, Share, Value
from gateval.domain.manifests.evaluation import (
    Calibration,
    EvalKind,
    ExecutionSpec,
    JudgeSpec,
    ScoringSpec,
)
from gateval.domain.manifests.fixture import Fixture, Severity, weighed_axes
from gateval.domain.manifests.messages import Feedback
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.statistics.broad import CONFIRMING_TRIALS, LEAST_DROP, LEAST_DROP_OF_MANY
from gateval.domain.statistics.design import Look, broad_looks, looks
from gateval.domain.statistics.graded import axis_looks
from gateval.domain.text import LongText, ShortText
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial, TrialKey


class Reason(Value):
    """Why something counts as changed or selected: `place` as text, and what is there.

    `where` reads `agents/support.yaml:14` or `prompts/refund.md`; `what` reads `spec.system`,
    `new`, `selected by Eval`; `before` and `after` are short and may be empty.
    """

    where: str
    what: str = ""
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.where} {self.what}".strip()

    @property
    def told(self) -> str:
        """What is there, then the place: how a list of reasons reads."""
        return f"{self.what} ({self.where})" if self.what else self.where


class Baseline(StrEnum):
    """Where an Eval's baseline comes from."""

    MERGE_BASE = "merge-base"
    NEW_AGENT = "new agent"
    SAME_AGENT = "agent unchanged"
    NONE = "not compared"


class Lowered(Value):
    """Something that head asks less than the base tip, or differently, in words.

    `moved` says that the target branch asks it since the branch was made: the change itself lowers
    nothing there. `fixture` and `family` are set where it is about a case of a file.
    """

    place: SourceLocation
    what: str
    before: str = ""
    after: str = ""
    moved: bool = False
    fixture: str = ""
    family: str = ""

    @classmethod
    def at(cls, place: SourceLocation, what: str, before: str = "", after: str = "") -> Self:
        """Return what is lowered at a place, and how."""
        return cls(place=place, what=what, before=before, after=after)

    @property
    def edit(self) -> str:
        """What it is, before and after."""
        moved = (
            f" {self.before} \N{RIGHTWARDS ARROW} {self.after}" if self.before or self.after else ""
        )
        return f"{self.what}{moved}"

    def __str__(self) -> str:
        return f"{self.place.file}:{self.place.line} {self.edit}"


Where = Literal["target branch", "merge-base", "head"]


class Unreadable(Value):
    """Something that the target branch or head may ask, or that an Agent was, and nobody can read.

    `where` is the revision, in words: `target branch`, `merge-base` or `head`.
    """

    where: Where
    problem: Problem

    @property
    def revision(self) -> str:
        """The revision with its article."""
        return self.where if self.where == "head" else f"the {self.where}"

    def __str__(self) -> str:
        return f"{self.problem} (on {self.revision})"


class Bar(Value):
    """Marks an Eval as the base tip's version of `eval`, which head must meet beside its own.

    The fixtures in `reused` ask the same on head: the trials of head's own Eval count for them.
    """

    eval: Name
    lowered: tuple[Lowered, ...] = ()
    reused: tuple[Name, ...] = ()


ALONE_AT_MOST = 200
"""Compared cases of one file up to which each is tested alone."""


class Joint(NamedTuple):
    """One test of several fixtures together; `family` is empty where it is all of an Eval.

    `axis` is the one whose scores it tests, empty for the whole.

    `looks` are those at every fixture of it, `least_drop` that of their mean rate, in [0, 1].
    """

    family: str
    fixtures: tuple[str, ...]
    looks: tuple[Look, ...]
    least_drop: float
    share: float = 0.0
    axis: str = ""


def families(fixtures: Iterable[Fixture], compared: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the compared cases by family, those of one case alone left out."""
    known = set(compared)
    found: dict[str, list[str]] = {}
    for fixture in fixtures:
        if fixture.family and fixture.name in known:
            found.setdefault(fixture.family, []).append(fixture.name)
    return {family: names for family, names in found.items() if len(names) > 1}


def together_only(fixtures: Iterable[Fixture], compared: Iterable[str]) -> frozenset[str]:
    """Return the compared fixtures that are tested with their family and never alone."""
    found = families(fixtures, compared)
    return frozenset(
        name for names in found.values() if len(names) > ALONE_AT_MOST for name in names
    )


def joint_tests(
    fixtures: Sequence[Fixture], compared: Sequence[str], repetitions: int
) -> tuple[Joint, ...]:
    """Return the tests of an Eval, that of everything first; a family that is all has no other."""
    if len(compared) < 2:
        return ()
    of_file = families(fixtures, compared)
    together = together_only(fixtures, compared)
    groups = [("", tuple(compared))]
    groups += [
        (name, tuple(cases)) for name, cases in of_file.items() if len(cases) < len(compared)
    ]
    looks = broad_looks(repetitions)
    return tuple(_joint(names, together, looks)._replace(family=family) for family, names in groups)


def axis_tests(
    fixtures: Sequence[Fixture], compared: Sequence[str], repetitions: int
) -> tuple[Joint, ...]:
    """Return the tests of the axes of these compared fixtures; none where there is one axis."""
    known = set(compared)
    axes = weighed_axes(one for one in fixtures if one.name in known)
    if len(axes) < 2:
        return ()
    together = together_only(fixtures, compared)
    return tuple(
        _joint(names, together, axis_looks(repetitions, len(names)))._replace(axis=axis)
        for axis, names in axes.items()
    )


def _joint(names: tuple[str, ...], together: frozenset[str], looks: tuple[Look, ...]) -> Joint:
    if together.isdisjoint(names):
        return Joint("", names, looks, LEAST_DROP)
    return Joint("", names, looks[:1], LEAST_DROP_OF_MANY)


_MOST = 100


class StoredTrials(Value):
    """Base trials of one fixture, the newest run's first.

    `marks` has a letter for each: passed, failed, failed without an answer (`p`, `f`, `s`).
    `claimed` says that its assertions rested on what the candidate claims.
    """

    fixture: Name
    marks: Annotated[str, Field(pattern=rf"^[pfs]{{1,{_MOST}}}$")]
    claimed: bool = False


class BaselineRun(Value):
    """A run of the default branch whose trials are used, as the forge confirmed it."""

    run: Positive
    commit: Sha
    at: str
    url: str = ""


class UsedBaseline(Value):
    """Which stored trials a plan uses: of these runs. Equal digests, equal trials."""

    digest: str
    runs: tuple[BaselineRun, ...] = Field(min_length=1)


@lru_cache(maxsize=20_000)
def trials_of(evaluation: str, fixture: str, marks: str) -> tuple[Trial, ...]:
    """Return stored trials as the first repetitions of base, without traces."""
    return tuple(
        Trial(
            key=TrialKey(eval=evaluation, fixture=fixture, side=Side.BASE, repetition=number),
            outcome=Outcome.PASS if mark == "p" else Outcome.FAIL,
            cause=Cause.CANDIDATE if mark == "s" else None,
        )
        for number, mark in enumerate(marks, start=1)
    )


CONFIRMING = 3
"""Trials that decide where one would not be fair: a new fixture, a missed threshold, silence."""


SideScores = tuple[Share, Share] | None
"""A score in [0, 1] of base and one of head."""


class KnownRegression(Value):
    """An earlier run's finding on a fixture that regressed: it is not measured again.

    `says` is what failed there, `excerpt` what its agent did, by the record's word; `found_on` is
    the commit that was measured. `scores` and `means` are as in a record (`StoredRegression`).
    """

    fixture: Name
    base_passes: Count
    base_trials: Positive
    head_passes: Count
    head_trials: Positive
    scores: SideScores = Field(default=None, exclude_if=operator.not_)
    means: SideScores = Field(default=None, exclude_if=operator.not_)
    found_at: str = ""
    found_on: str = Field(default="", exclude_if=operator.not_)
    says: ShortText = ""
    excerpt: LongText = Field(default="", exclude_if=operator.not_)


class Quarantined(Value):
    """A fixture that informs and does not block up to a day (`2026-12-01`), and who mends it."""

    fixture: Name
    owner: str
    until: str


class SkippedFixture(Value):
    """A fixture that the change calls for and this run does not look at."""

    name: Name
    severity: Severity


class AfterMerge(Value):
    """A sealed Eval that the change adds or edits: head's version first runs after the merge.

    `instead` says that the target branch's version runs in its place; then `named` are the fixtures
    that are new or edited. Else all of its `fixtures` are.
    """

    kind: EvalKind = "Eval"
    eval: str
    fixtures: Count = 0
    named: tuple[Name, ...] = ()
    instead: bool = False


class PlannedEval(Value):
    """One Eval to run, with its resolved fixtures and the reasons why it runs.

    `compared` names the fixtures that are held against the baseline: those that stand at the
    merge-base, or on the target branch. `added` have to pass by themselves. The shares are parts of
    the budget for false alarms, of each compared fixture and of all together; 0 where nothing is
    compared. `family_share` is that of the cases of one file, `axis_share` that of one axis of
    scores, `silence_share` that of a fixture which is tested with its family only,
    `preference_share` that of what judges prefer.
    `calibration` is what its judge is measured against, None where it names none, or none is there.
    `deterministic` says that the candidates are known to do the same each time, `strict` that the
    policy asks for a threshold of 1 where none is written. `standing` is what an earlier run found
    regressed, `stored` what the default branch measured before in place of base; `base_seen` says
    that the gate saw model calls there itself. `quarantined` inform and do not block. `left_out`
    are fixtures of it that nobody asked for. `needs_model` is False where the target branch's Agent
    says that it may answer without a model. `repetitions_asked` is what the Eval says, where the
    budget leaves it fewer. `feedback` is what people said of an experiment's answers. What a
    `sealed` one asks, and what came of it, is for holders of the key alone.
    """

    kind: EvalKind = "Eval"
    name: Name
    version: str = ""
    place: SourceLocation
    agent: Name
    judge: JudgeSpec
    calibration: Calibration | None = None
    scoring: ScoringSpec
    execution: ExecutionSpec
    baseline: Baseline
    why: tuple[Reason, ...]
    fixtures: tuple[Fixture, ...] = Field(min_length=1)
    bar: Bar | None = None
    compared: tuple[Name, ...] = ()
    added: tuple[Name, ...] = ()
    fixture_share: float = Field(default=0.0, ge=0, lt=1)
    broad_share: float = Field(default=0.0, ge=0, lt=1)
    family_share: float = Field(default=0.0, ge=0, lt=1)
    axis_share: float = Field(default=0.0, ge=0, lt=1)
    silence_share: float = Field(default=0.0, ge=0, lt=1)
    preference_share: float = Field(default=0.0, ge=0, lt=1, exclude_if=operator.not_)
    deterministic: bool = False
    strict: bool = False
    standing: tuple[KnownRegression, ...] = ()
    left_out: tuple[SkippedFixture, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    stored: tuple[StoredTrials, ...] = ()
    base_seen: bool = False
    needs_model: bool = True
    repetitions_asked: Count = 0
    feedback: tuple[Feedback, ...] = ()
    sealed: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether a judge is asked about a fixture of it."""
        return any(one.needs_judge for fixture in self.fixtures for one in fixture.assertions)

    @property
    def wants_calibration(self) -> bool:
        """Whether the word of its judge counts only if that was measured."""
        return self.judge.wants_measure and self.is_judged

    @model_validator(mode="after")
    def _scores_are_not_stored(self) -> Self:
        if self.stored and self.scoring.graded:
            raise ValueError("stored trials know what passed, and no scores to compare")
        return self

    @property
    def threshold(self) -> float | None:
        """The score in [0, 1] that decides; None where only regressions and new fixtures do."""
        written = self.scoring.pass_threshold
        if written is not None:
            return written
        has_baseline = self.baseline in {Baseline.MERGE_BASE, Baseline.SAME_AGENT}
        return None if has_baseline and not self.strict else self.scoring.model.usual_threshold

    @property
    def first_look(self) -> Look:
        """The trials of each side that are planned for every fixture."""
        reps = self.execution.reps_per_fixture
        return Look(base=reps, head=reps)

    @property
    def looks(self) -> tuple[Look, ...]:
        """The looks at a compared fixture; one alone where nothing is compared."""
        return self.looks_with(0)

    def looks_with(self, stored: int) -> tuple[Look, ...]:
        """The looks at a compared fixture of which so many base trials are stored."""
        if not self.compared or not (self.fixture_share or self.silence_share):
            return (self.first_look,)
        return looks(self.execution.reps_per_fixture, stored)

    def stored_counts(self) -> dict[str, int]:
        """How many base trials are stored, by fixture."""
        return {one.fixture: len(one.marks) for one in self.stored}

    @property
    def joint_tests(self) -> tuple[Joint, ...]:
        """The tests of several compared fixtures together, those of axes last; none where that
        says nothing.
        """
        apart = {one.fixture for one in self.quarantined}
        blocking = [name for name in self.compared if name not in apart]
        reps, found = self.execution.reps_per_fixture, list[Joint]()
        if self.broad_share and not self.deterministic:
            found += [
                one._replace(share=self.family_share if one.family else self.broad_share)
                for one in joint_tests(self.fixtures, blocking, reps)
            ]
        if self.axis_share:
            axes = axis_tests(self.fixtures, blocking, reps)
            found += [one._replace(share=self.axis_share) for one in axes]
        return tuple(found)

    @property
    def preferring(self) -> frozenset[str]:
        """The compared fixtures of which a judge is shown both answers, where that may block."""
        if not self.preference_share:
            return frozenset()
        apart = {one.fixture for one in self.quarantined}
        apart |= {one.fixture for one in self.standing}
        asking = {one.name for one in self.fixtures if one.preference is not None}
        return frozenset(asking.intersection(self.compared) - apart)

    def most(self) -> dict[str, Look]:
        """The most trials of each side that can be asked for, by own fixture.

        Those of a sealed Eval are all asked as often as the one that needs most.
        """
        least = (self.first_look, Look(base=CONFIRMING, head=CONFIRMING))
        joint = [look for test in self.joint_tests for look in test.looks]
        alone, most = _largest(least), _largest((*least, *self.looks, *joint))
        compared, stored = set(self.compared), self.stored_counts()
        if stored:
            most = _largest((most, Look(base=CONFIRMING_TRIALS, head=1)))
        more = {many: self._most_with(many, most) for many in {0, *stored.values()}}
        return {
            f.name: more[stored.get(f.name, 0)]
            if f.name in compared or (self.sealed and compared)
            else alone
            for f in self.own_fixtures
        }

    def _most_with(self, stored: int, most: Look) -> Look:
        """The same where so many base trials are stored: all fresh ones may come on top."""
        if not stored:
            return most
        look = _largest((most, *self.looks_with(stored)))
        return Look(base=max(look.base, stored + most.base), head=look.head)

    def in_quarantine(self, fixture: str) -> Quarantined | None:
        """Return on what terms a fixture does not block, None if it does."""
        return next((one for one in self.quarantined if one.fixture == fixture), None)

    def weight(self, fixture: Fixture) -> float:
        """The weight of a fixture in the score; none in quarantine."""
        apart = self.quarantined and self.in_quarantine(fixture.name)
        return 0.0 if apart else self.scoring.weight(fixture.severity)

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that are measured, base first."""
        return (Side.BASE, Side.HEAD) if self.baseline is Baseline.MERGE_BASE else (Side.HEAD,)

    @property
    def own_name(self) -> str:
        """The name that people gave it, whichever revision it is from."""
        return self.bar.eval if self.bar else self.name

    @property
    def shown_name(self) -> str:
        """The name for people: a benchmark has its version behind it, as in `desk@2`; the target
        branch's version of an Eval says in words that it is that.
        """
        versioned = f"{self.own_name}@{self.version}" if self.version else self.own_name
        return f"{versioned} (target branch)" if self.bar else versioned

    @property
    def own_fixtures(self) -> tuple[Fixture, ...]:
        """The fixtures that run under this Eval's name."""
        reused = set(self.bar.reused if self.bar else ())
        return tuple(fixture for fixture in self.fixtures if fixture.name not in reused)

    def owners(self) -> dict[str, str]:
        """The name of the Eval whose trials count, by fixture."""
        reused = set(self.bar.reused if self.bar else ())
        return {f.name: self.own_name if f.name in reused else self.name for f in self.fixtures}

    def measured_by(self, fixture: str) -> str:
        """The name of the Eval whose trials count for this fixture."""
        return self.bar.eval if self.bar and fixture in self.bar.reused else self.name

    @property
    def measured_anew(self) -> PlannedEval:
        """The same without what an earlier run found."""
        known = self.standing or self.stored or self.base_seen
        empty = {"standing": (), "stored": (), "base_seen": False}
        return self.replace(**empty) if known else self

    @property
    def uncut(self) -> PlannedEval:
        """The same with the repetitions that the Eval asks for, whatever the budget leaves."""
        if not self.repetitions_asked:
            return self
        asked = {"reps_per_fixture": self.repetitions_asked}
        execution = self.execution.replace(**asked)
        return self.replace(execution=execution, repetitions_asked=0)

    def stands(self, fixture: str) -> KnownRegression | None:
        """Return an earlier run's finding on this fixture, None if it is measured."""
        return next((one for one in self.standing if one.fixture == fixture), None)

    def fixture(self, name: str) -> Fixture:
        """The fixture of this name; raises KeyError."""
        if self._named[0] is not self.fixtures:  # a copy of another Eval, with other fixtures
            del self.__dict__["_named"]
        return self._named[1][name]

    @cached_property
    def _named(self) -> tuple[tuple[Fixture, ...], dict[str, Fixture]]:
        return self.fixtures, {fixture.name: fixture for fixture in self.fixtures}


def _largest(looks: Iterable[Look]) -> Look:
    several = tuple(looks)
    return Look(base=max(one.base for one in several), head=max(one.head for one in several))


class Removed(Value):
    """Something that head's Evals no longer run, though the merge-base's did."""

    kind: Literal["Eval", "fixture"]
    name: str
    eval: str
    place: SourceLocation
