"""How many calls go to one provider, by one key, at the same time, and how fast they begin.

Without 429s there is no limit but the run's own. One halves what is let through at once (those that
were under way together count once); each round of answers lets one more through.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from math import inf

from gateval.domain.manifests.gate_config import ProviderRate
from gateval.gateway.places import aside


class RateLimiter:
    """Spreads what comes too fast: `burst` at once, then `per_second`. What is larger than that
    goes when all before it has gone, and those after it wait the longer.
    """

    def __init__(
        self, *, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._step = 1 / per_second
        self._ahead = (burst - 1) * self._step
        self._clock = clock
        self._next = 0.0

    def wait(self, amount: float = 1) -> float:
        """Take a turn for so much, and return the seconds until it comes."""
        now = self._clock()
        mine = max(self._next, now - self._ahead)
        self._next = mine + amount * self._step
        return max(mine - now, 0.0)

    def correct(self, more: float) -> None:
        """Count so much more, or less, than was said."""
        self._next += more * self._step


class Pace:
    """The turns of one provider and key; `rate` is what it is declared to allow."""

    def __init__(
        self, rate: ProviderRate | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._limit = inf
        self._halved = -inf
        self._open = 0
        self._turns: deque[asyncio.Future[None]] = deque()
        declared = rate or ProviderRate()
        self._calls = _limiter(declared.rpm, clock)
        self._tokens = _limiter(declared.tpm, clock)

    @property
    def at_once(self) -> float:
        """How many calls are let through at once."""
        return self._limit

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how many tokens calls take."""
        return self._tokens is not None

    async def begin(self, tokens: float) -> float:
        """Wait for a turn for a call that may take so many tokens; return when it begins. The
        caller ends it by `end`.
        """
        seconds = 0.0
        if self._calls is not None:
            seconds = self._calls.wait()
        if self._tokens is not None:
            seconds = max(seconds, self._tokens.wait(tokens))
        if seconds > 0:
            await aside(asyncio.sleep(seconds))
        if self._open + 1 > self._limit or self._turns:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._turns.append(turn)
            try:
                await aside(turn)
            except BaseException:
                if turn.done() and not turn.cancelled():
                    self._left()
                raise
        else:
            self._open += 1
        return self._clock()

    def end(self, began: float, *, answered: bool = False, limited: bool = False) -> None:
        """End a call that was `answered`, or refused for being one too many (`limited`)."""
        if limited and began >= self._halved:
            self._limit = max(1.0, min(self._limit, self._open) / 2)
            self._halved = self._clock()
        elif answered and self._limit < inf:
            self._limit += 1 / self._limit
        self._left()

    def took(self, estimated: float, tokens: float) -> None:
        """Note what a call took whose turn was for `estimated` tokens."""
        if self._tokens is not None:
            self._tokens.correct(tokens - estimated)

    def _left(self) -> None:
        self._open -= 1
        while self._turns and self._open + 1 <= self._limit:
            turn = self._turns.popleft()
            if not turn.done():
                self._open += 1
                turn.set_result(None)


def _limiter(per_minute: int | None, clock: Callable[[], float]) -> RateLimiter | None:
    """Return what keeps to so much a minute, a second's worth at once."""
    if per_minute is None:
        return None
    return RateLimiter(per_second=per_minute / 60, burst=max(1.0, per_minute / 60), clock=clock)
