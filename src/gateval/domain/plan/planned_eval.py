"""One Eval that will run, why it does, and what the target branch asks of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gateval.domain.base import Name, Value
from gateval.domain.manifests.evaluation import ExecutionSpec, JudgeSpec, ScoringSpec
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.place import Place, Problem
from gateval.domain.trials.trial import Side


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


class Baseline(StrEnum):
    """Where an Eval's baseline comes from."""

    MERGE_BASE = "merge-base"
    NEW_AGENT = "new agent"
    SAME_AGENT = "agent unchanged"
    NONE = "not compared"


class Lowered(Value):
    """Something that head asks less than the base tip, or differently, in words.

    `moved` says that the target branch asks it since the branch was made: the change itself lowers
    nothing there.
    """

    place: Place
    what: str
    before: str = ""
    after: str = ""
    moved: bool = False

    def __str__(self) -> str:
        moved = (
            f" {self.before} \N{RIGHTWARDS ARROW} {self.after}" if self.before or self.after else ""
        )
        return f"{self.place.file}:{self.place.line} {self.what}{moved}"


Where = Literal["target branch", "merge-base"]


class Doubt(Value):
    """Something that the target branch may ask, or that an Agent was, and nobody can read.

    `where` is the revision, in words: `target branch` or `merge-base`.
    """

    where: Where
    problem: Problem

    def __str__(self) -> str:
        return f"{self.problem} (on the {self.where})"


class Bar(Value):
    """Marks an Eval as the base tip's version of `eval`, which head must meet beside its own.

    The fixtures in `reused` ask the same on head: the trials of head's own Eval count for them.
    """

    eval: Name
    lowered: tuple[Lowered, ...] = ()
    reused: tuple[Name, ...] = ()


class PlannedEval(Value):
    """One Eval to run, with its resolved fixtures and the reasons why it runs."""

    name: Name
    place: Place
    agent: Name
    judge: JudgeSpec
    scoring: ScoringSpec
    execution: ExecutionSpec
    baseline: Baseline
    why: tuple[Reason, ...]
    fixtures: tuple[Fixture, ...] = Field(min_length=1)
    bar: Bar | None = None

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
        """The name for people: the target branch's version says in words that it is that."""
        return f"{self.bar.eval} (target branch)" if self.bar else self.name

    @property
    def own_fixtures(self) -> tuple[Fixture, ...]:
        """The fixtures that run under this Eval's name."""
        reused = self.bar.reused if self.bar else ()
        return tuple(fixture for fixture in self.fixtures if fixture.name not in reused)

    def measured_by(self, fixture: str) -> str:
        """The name of the Eval whose trials count for this fixture."""
        return self.bar.eval if self.bar and fixture in self.bar.reused else self.name

    def fixture(self, name: str) -> Fixture:
        """The fixture of this name; raises KeyError."""
        for fixture in self.fixtures:
            if fixture.name == name:
                return fixture
        raise KeyError(name)


class Removed(Value):
    """Something that head's Evals no longer run, though the merge-base's did."""

    kind: Literal["Eval", "fixture"]
    name: str
    eval: str
    place: Place
