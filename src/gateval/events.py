"""What happens while trials run. Progress listens; the engine does not know who does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Trial, TrialKey


class RunStarted(NamedTuple):
    """The run begins with so many `trials`, None for all that are planned. So many others are
    `kept` from the run that it goes on from.
    """

    plan: Plan
    trials: int | None = None
    kept: int = 0


class RunWarned(NamedTuple):
    """Something about the whole run that a person should know. `message` is a sentence of ours."""

    message: str


class CandidatePreparing(NamedTuple):
    """A revision is exported and set up for an agent; this can take long."""

    agent: str
    side: str
    what: str


class CandidateWarned(NamedTuple):
    """A candidate did what a person should know of, though it changes no outcome.

    `message` is a sentence; what the candidate itself said may stand in it, so it is not clean.
    `lasting` says that it belongs to the results: it may have changed what later trials met.
    """

    agent: str
    side: str
    message: str
    lasting: bool = False


class TrialsAdded(NamedTuple):
    """Further trials are asked for, because something looks worse or is close."""

    keys: tuple[TrialKey, ...]


class TrialStarted(NamedTuple):
    """A trial begins."""

    key: TrialKey


class TrialAnswered(NamedTuple):
    """A trial is answered and stored, and waits for a judge that is asked in batches."""

    trial: Trial


class TrialFinished(NamedTuple):
    """A trial is over and stored."""

    trial: Trial


class RunFinished(NamedTuple):
    """All trials are over, or the run was stopped."""

    finished: int
    planned: int


Event = (
    RunStarted
    | RunWarned
    | CandidatePreparing
    | CandidateWarned
    | TrialsAdded
    | TrialStarted
    | TrialAnswered
    | TrialFinished
    | RunFinished
)
Listener = Callable[[Event], None]
