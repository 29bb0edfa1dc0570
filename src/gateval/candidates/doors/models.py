"""The way of candidates to their models and tools, as runtimes see it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from gateval.domain.trials.calls import CallsMade
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.tools import Replay
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Side
from gateval.ports.model_calls import ModelTrouble


class ModelSession(Protocol):
    """The way of one instance of a candidate to its models and tools, trial after trial.

    Calls are admitted between `begin` and `end` only. All others are *stray*: refused and counted.
    """

    def environment(self) -> dict[str, str]:
        """Base addresses and a throw-away key, under the names that the official SDKs read."""

    def begin(self, repetition: int = 1, replay: Replay | None = None) -> None:
        """A trial begins: calls are admitted from now on, and go into a fresh trace.

        `replay` answers calls of the Agent's tools.
        """

    def trouble(self, limit: float, *, late: bool = False) -> ModelTrouble | None:
        """Why the models were out of reach in a trial of `limit` seconds; asked before `end`.

        `late` says that the time was over.
        """

    def end(self) -> Trace | None:
        """The trial is over, and its calls with it. The trace, or None when there were no calls."""

    @property
    def calls(self) -> CallsMade | None:
        """What became of the calls of the trial under way; asked before `end`."""

    @property
    def tools_asked(self) -> bool:
        """Whether the instance ever spoke to the server that answers for tools."""

    @property
    def asks(self) -> bool:
        """Whether a call is under way."""

    @property
    def stray(self) -> int:
        """How many calls were refused because no trial was under way, since it was opened."""

    def close(self) -> None:
        """The instance is gone: a trial under way ends, and the key is refused from now on."""


class SeenTrial(NamedTuple):
    """What the gateway saw of a trial: why models were out of reach, if they were, and the rest.

    All of it is None where there was no door to models.
    """

    trouble: ModelTrouble | None = None
    trace: Trace | None = None
    calls: CallsMade | None = None


def end_trial(session: ModelSession | None, limit: float, *, late: bool) -> SeenTrial:
    """End the trial under way, which could take `limit` seconds and did if it was `late`."""
    if session is None:
        return SeenTrial()
    trouble, calls = session.trouble(limit, late=late), session.calls
    return SeenTrial(trouble, session.end(), calls)


class ModelDoor(Protocol):
    """The door through which candidates call models."""

    def open(
        self,
        side: Side,
        models: tuple[str, ...],
        uses: tuple[str, ...] = (),
        tools: tuple[ToolDefinition, ...] = (),
    ) -> ModelSession:
        """Open it for one instance, which may ask `models` and `uses`; any, if both are empty.

        `side` says whose scripted models answer; `tools` are offered to it.
        """
