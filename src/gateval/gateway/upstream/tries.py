"""How one model call went, attempt by attempt: what it took, and how much of that was waiting."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from gateval.domain.trials.trace import CallCost

if TYPE_CHECKING:
    from gateval.gateway.ledger import Entry


class Wait(NamedTuple):
    """When a provider that refused or dropped a call was waited for, by the monotonic clock."""

    begin: float
    end: float


class Tries:
    """How often a call was made, and since when.

    `failure` says in a sentence how the latest attempt ended that failed, or nothing. `most` is how
    many tokens the answer may have, None if the request does not say; `entry` is the latest attempt
    in the account of the run.
    """

    def __init__(self, most: int | None = None) -> None:
        self.count = 0
        self.failure = ""
        self.most = most
        self.entry: Entry | None = None
        self._began = time.monotonic()
        self._first = self._latest = self._began
        self._between = False

    def begin(self) -> None:
        """An attempt begins."""
        self.count += 1
        self._between = False
        self._latest = time.monotonic()
        if self.count == 1:
            self._first = self._latest

    def failed(self) -> None:
        """The attempt has failed in a way that may pass."""
        self._between = True

    def over(self) -> None:
        """The call is over: what was not counted until now is lost."""
        if self.entry is not None:
            self.entry.lost()

    @property
    def wait(self) -> Wait | None:
        """From the first attempt until the one that was answered, or is under way, began; None if
        none has failed.
        """
        end = time.monotonic() if self._between else self._latest
        return Wait(self._first, end) if end > self._first else None

    @property
    def cost(self) -> CallCost:
        """The cost of the call until now."""
        wait = self.wait
        waited = wait.end - wait.begin if wait else 0.0
        return CallCost(time.monotonic() - self._began, max(self.count - 1, 0), waited)


def together(waits: list[Wait]) -> float:
    """Return the seconds that lie in at least one of the waits: calls may wait side by side."""
    seconds, until = 0.0, float("-inf")
    for begin, end in sorted(waits):
        seconds += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return seconds
