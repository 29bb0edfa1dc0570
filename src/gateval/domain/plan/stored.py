"""Base trials that the default branch made before, as a plan carries them."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import Field

from gateval.domain.base import SHA_PATTERN, Name, Value
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial, TrialKey

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

    run: int = Field(ge=1)
    commit: str = Field(pattern=SHA_PATTERN)
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
