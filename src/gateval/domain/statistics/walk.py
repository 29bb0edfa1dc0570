"""One fixture's trials taken through its design: what follows, and which trials come next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.statistics.design import Design, LookResult, step
from gateval.domain.statistics.looks import Look

Outcomes = Sequence[bool | None]
"""Trials in the order of their repetitions: passed, failed, or None for one lost for good."""


class Count(Value):
    """Passes among the trials that were measured."""

    passes: Annotated[int, Field(ge=0)]
    trials: Annotated[int, Field(ge=0)]

    @property
    def rate(self) -> float:
        """The share of passes in [0, 1]; 0 without a trial."""
        return self.passes / self.trials if self.trials else 0.0


class Walk(Value):
    """Where a fixture stands.

    `look` is where it ended or, on `GO_ON`, up to where trials are to be made; the counts are those
    of the measured trials up to there.
    """

    step: LookResult
    look: Look
    base: Count
    head: Count

    @property
    def ended(self) -> bool:
        """Whether the rule wants no more trials."""
        return self.step is not LookResult.GO_ON


def walk(design: Design, base: Outcomes, head: Outcomes) -> Walk:
    """Return where `base` and `head` (stored trials first) lead; trials beyond the end are ignored.

    A lost trial counts as a pass of head or as a failure of base. That keeps the guarantee whatever
    made the trial get lost: the regions are monotone, so wherever the filled-up sequence goes on or
    regresses, the true one, had it been measured, goes on or has regressed, too. The chance of
    ever regressing is therefore at most that of complete trials, which is at most the share.
    """
    taken, look = LookResult.GO_ON, design.looks[0]
    for index, look in enumerate(design.looks):
        if len(base) < look.base or len(head) < look.head:
            break
        base_passes = sum(outcome is True for outcome in base[: look.base])
        head_passes = sum(outcome is not False for outcome in head[: look.head])
        taken = step(design, index, base_passes, head_passes)
        if taken is not LookResult.GO_ON:
            break
    return Walk(
        step=taken, look=look, base=counted(base[: look.base]), head=counted(head[: look.head])
    )


def counted(outcomes: Outcomes) -> Count:
    """Return the passes among those of `outcomes` that were measured."""
    measured = [outcome for outcome in outcomes if outcome is not None]
    return Count(passes=sum(measured), trials=len(measured))


FRESH = 3
"""Base trials made beside head without which nothing stored makes a fixture regressed.

Stored trials may be of a model as it was. To ask for fresh ones only takes blocks away, so the
bound on false ones holds as it is.
"""


def borne_out(fresh: Count, head: Count) -> bool:
    """Whether base, as it is now, does better than head does; never without a trial of each."""
    return bool(fresh.trials and head.trials) and fresh.rate > head.rate
