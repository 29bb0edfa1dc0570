"""When a model call is made again, and after which wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar

from pydantic import Field
from tenacity import AsyncRetrying, RetryCallState
from tenacity.retry import retry_if_exception_type
from tenacity.stop import stop_after_attempt, stop_before_delay
from tenacity.wait import wait_random_exponential

from gateval.domain.base import Value
from gateval.domain.trials.trace import CallCost
from gateval.gateway.upstream.circuit_breaker import CircuitBreaker

Result = TypeVar("Result")

RETRIED_BELOW_500 = frozenset({408, 429})


class RetryPolicy(Value):
    """How often and how long a call is tried.

    `attempts` counts the first one. No attempt starts later than `total_seconds` after the first.
    Waits grow from `first_wait` to at most `longest_wait` seconds, each drawn at random between
    half the first and that. A wait the provider asks for is kept instead, up to `longest_asked`
    seconds. After `outage_seconds` in which nothing got through, no call is tried again until one
    does.
    """

    attempts: int = Field(default=8, ge=1)
    total_seconds: float = Field(default=300, gt=0)
    first_wait: float = Field(default=0.5, ge=0)
    longest_wait: float = Field(default=20, ge=0)
    longest_asked: float = Field(default=60, ge=0)
    outage_seconds: float = Field(default=120, ge=0)


class Transient(Exception):
    """An attempt failed in a way that may pass; the text goes on after the provider's name.

    `asked` is the wait asked for, in seconds; `status` the HTTP status, if there was one.
    """

    def __init__(
        self, message: str, *, asked: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.asked = asked
        self.status = status


class Tries:
    """How often a call was made, and since when (seconds of the monotonic clock).

    `failure` says in a sentence how the latest attempt ended that failed, or nothing.
    """

    def __init__(self) -> None:
        self.count = 0
        self.failure = ""
        self._began = time.monotonic()

    @property
    def cost(self) -> CallCost:
        """What the call has taken until now."""
        return CallCost(time.monotonic() - self._began, max(self.count - 1, 0))


def is_transient(status: int, headers: Mapping[str, str]) -> bool:
    """Whether an answer with this status is worth another attempt.

    Both official SDKs let the provider forbid it by `x-should-retry: false`; so do we.
    """
    if headers.get("x-should-retry") == "false":
        return False
    return status in RETRIED_BELOW_500 or status >= 500


def asked_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return the wait in seconds that `retry-after-ms` or `Retry-After` asks for, or None.

    `now` is Unix time, for `Retry-After` as a date (RFC 9110, section 10.2.3). A wait that is
    over, or no number, counts as none.
    """
    wait = _seconds(headers.get("retry-after-ms", ""), divisor=1000)
    header = headers.get("Retry-After", "")
    if wait is None:
        wait = _seconds(header, divisor=1)
    if wait is None:
        wait = _until(header, now=now)
    return wait if wait is not None and wait > 0 else None


def retrying(policy: RetryPolicy, breaker: CircuitBreaker) -> AsyncRetrying:
    """Return what calls a function again on `Transient`, and raises the last one in the end.

    A provider whose `breaker` is lost is not called again.
    """
    enough, late = stop_after_attempt(policy.attempts), stop_before_delay(policy.total_seconds)
    growing = wait_random_exponential(
        multiplier=policy.first_wait, min=policy.first_wait / 2, max=policy.longest_wait
    )

    def wait(state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome else None
        asked = failure.asked if isinstance(failure, Transient) else None
        return growing(state) if asked is None else min(asked, policy.longest_asked)

    def stop(state: RetryCallState) -> bool:
        return breaker.lost() or enough(state) or late(state)

    return AsyncRetrying(
        sleep=asyncio.sleep,
        stop=stop,
        wait=wait,
        retry=retry_if_exception_type(Transient),
        reraise=True,
    )


class Retrier:
    """Makes the calls to one provider, each again on `Transient` as the policy says."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._breaker = CircuitBreaker(policy.outage_seconds)
        self._retrying = retrying(policy, self._breaker)

    async def __call__(self, attempt: Callable[[], Awaitable[Result]], tries: Tries) -> Result:
        """Return what `attempt` gives; raise its last `Transient` when that was in vain.

        Each attempt is counted in `tries`. The first is made beforehand and only handed to
        tenacity if it failed: most calls need no retry, and its bookkeeping takes a third of the
        gate's own time for a call.
        """
        failures: list[Transient] = []
        try:
            return await self._felt(attempt, tries)
        except Transient as error:
            failures.append(error)

        async def again() -> Result:
            if failures:
                raise failures.pop()
            return await self._felt(attempt, tries)

        result: Result = await self._retrying.copy()(again)
        return result

    async def _felt(self, attempt: Callable[[], Awaitable[Result]], tries: Tries) -> Result:
        tries.count += 1
        try:
            result = await attempt()
        except Transient:
            self._breaker.failed()
            raise
        self._breaker.answered()
        return result


def _seconds(text: str, *, divisor: float) -> float | None:
    try:
        return float(text) / divisor
    except ValueError:
        return None


def _until(text: str, *, now: float) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError):
        return None
