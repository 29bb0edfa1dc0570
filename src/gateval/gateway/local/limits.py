"""Limits on one candidate's use of the gateway, so that a flood of calls hurts only itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.manifests.policy.gate_config import GatewayPolicy
from gateval.domain.manifests.policy.words import CallFeature


class CallLimits(Value):
    """The limits of one trial and of one instance.

    A trial: `calls` admitted, `tokens` used (as providers count them). An instance: `at_once` calls
    answered side by side, `waiting` more that wait for their turn, of bodies over `large_bytes`
    one at a time, `per_second` calls begun in the long run, `burst` of them at once. A body has to
    be here within `body_seconds`. A run: `run_calls` and `run_tokens` of all candidates together.
    A call: `max_tokens` asked for at most, and nothing of `CallFeature` that is not in `allow`.
    """

    calls: int = Field(default=1_000, ge=1)
    tokens: int = Field(default=10_000_000, ge=1)
    at_once: int = Field(default=16, ge=1)
    waiting: int = Field(default=48, ge=0)
    large_bytes: int = Field(default=2 * 1024 * 1024, ge=1)
    per_second: float = Field(default=50, gt=0)
    burst: int = Field(default=100, ge=1)
    body_seconds: float = Field(default=60, gt=0)
    max_tokens: int = Field(default=128_000, ge=1)
    allow: tuple[CallFeature, ...] = ()

    @classmethod
    def under(cls, policy: GatewayPolicy) -> CallLimits:
        """The limits of a run under this policy."""
        return cls(
            max_tokens=policy.max_tokens,
            allow=policy.allow,
        )


class RateLimiter:
    """Spreads what comes too fast: `burst` at once, then `per_second`."""

    def __init__(self, *, per_second: float, burst: int) -> None:
        self._step = 1 / per_second
        self._ahead = burst * self._step
        self._next = 0.0

    def wait(self) -> float:
        """Take a turn, and return the seconds until it comes."""
        now = time.monotonic()
        self._next = max(self._next, now - self._ahead) + self._step
        return max(self._next - now, 0.0)


class CallQueue:
    """The turns of one instance: how many of its calls go on at once, and how fast they begin."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._at_once = asyncio.Semaphore(limits.at_once)
        self._large = asyncio.Lock()
        self._pace = RateLimiter(per_second=limits.per_second, burst=limits.burst)
        self._present = 0

    @property
    def is_full(self) -> bool:
        """Whether as many calls as may wait are waiting."""
        return self._present >= self._limits.at_once + self._limits.waiting

    @asynccontextmanager
    async def turn(self, size: int | None) -> AsyncIterator[None]:
        """Wait for a turn and keep it; `size` is that of the body in bytes, None if unknown."""
        self._present += 1
        try:
            if size is not None and size <= self._limits.large_bytes:
                async with self._at_once:
                    await self._in_time()
                    yield
            else:
                # Bodies that may be large wait for each other first, and never hold small ones up.
                async with self._large, self._at_once:
                    await self._in_time()
                    yield
        finally:
            self._present -= 1

    async def _in_time(self) -> None:
        seconds = self._pace.wait()
        if seconds:
            await asyncio.sleep(seconds)
