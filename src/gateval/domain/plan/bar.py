"""Why an Eval runs, and the bar that a change is held to: values of a plan."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from gateval.domain.base import Name, Value
from gateval.domain.repository.place import Place, Problem


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
    nothing there. `fixture` and `family` are set where it is about a case of a file.
    """

    place: Place
    what: str
    before: str = ""
    after: str = ""
    moved: bool = False
    fixture: str = ""
    family: str = ""

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


class Doubt(Value):
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
