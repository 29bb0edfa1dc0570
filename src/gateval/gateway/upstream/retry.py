"""When a model call is made again, and after which wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import Field
from tenacity import AsyncRetrying, RetryCallState
from tenacity.retry import retry_if_exception_type
from tenacity.stop import stop_after_attempt, stop_before_delay
from tenacity.wait import wait_random_exponential

from gateval.domain.base import Value
from gateval.gateway.upstream.circuit_breaker import CircuitBreaker
from gateval.gateway.upstream.tries import Tries
from gateval.ports.model_calls import ModelCallError

Result = TypeVar("Result")

GARBLED_ATTEMPTS = 3
"""Attempts at a call that is answered by something unreadable: that seldom passes."""

MODELS_WATCHED = 256
"""Models of a provider whose outages are told apart."""


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


class Denied(Exception):
    """The account is refused, however often we ask; the text goes on after the provider's name."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class Unreached(Transient):
    """The provider was not reached, so it saw nothing of the call."""


class Garbled(Transient):
    """A success that is no reply in the provider's format, cut off on its way perhaps."""


def retrying(policy: RetryPolicy, breaker: CircuitBreaker) -> AsyncRetrying:
    """Return what calls a function again on `Transient`, and raises the last one in the end.

    A model whose `breaker` is lost is not called again.
    """
    enough, late = stop_after_attempt(policy.attempts), stop_before_delay(policy.total_seconds)
    garbled_enough = stop_after_attempt(GARBLED_ATTEMPTS)
    growing = wait_random_exponential(
        multiplier=policy.first_wait, min=policy.first_wait / 2, max=policy.longest_wait
    )

    def wait(state: RetryCallState) -> float:
        failure = state.outcome.exception() if state.outcome else None
        asked = failure.asked if isinstance(failure, Transient) else None
        return growing(state) if asked is None else min(asked, policy.longest_asked)

    def stop(state: RetryCallState) -> bool:
        failure = state.outcome.exception() if state.outcome else None
        if isinstance(failure, Garbled) and garbled_enough(state):
            return True
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
        self._policy = policy
        self._models: dict[str, tuple[CircuitBreaker, AsyncRetrying]] = {}

    async def __call__(
        self, model: str, attempt: Callable[[], Awaitable[Result]], tries: Tries
    ) -> Result:
        """Return what `attempt` gives; raise its last `Transient` when that was in vain.

        Outages are those of `model`: where one is down, others may answer. Each attempt is counted
        in `tries`. The first is made beforehand and only handed to tenacity if it failed: most
        calls need no retry, and its bookkeeping takes a third of the gate's own time for a call.
        """
        breaker, again_on_failure = self._watched(model)
        failures: list[Transient] = []
        try:
            return await _felt(breaker, attempt, tries)
        except Transient as error:
            failures.append(error)

        async def again() -> Result:
            if failures:
                raise failures.pop()
            return await _felt(breaker, attempt, tries)

        result: Result = await again_on_failure.copy()(again)
        return result

    def _watched(self, model: str) -> tuple[CircuitBreaker, AsyncRetrying]:
        """The breaker of a model. A candidate that invents names shares one for all the rest."""
        name = model if model in self._models or len(self._models) < MODELS_WATCHED else ""
        if name not in self._models:
            breaker = CircuitBreaker(self._policy.outage_seconds)
            self._models[name] = (breaker, retrying(self._policy, breaker))
        return self._models[name]


async def _felt(
    breaker: CircuitBreaker, attempt: Callable[[], Awaitable[Result]], tries: Tries
) -> Result:
    began = breaker.begin()
    if began is None:
        raise Transient("has not answered for this model for too long, so it is not asked now")
    tries.begin()
    try:
        result = await attempt()
    except Transient:
        tries.failed()
        breaker.failed(began)
        raise
    except (asyncio.CancelledError, ModelCallError):
        breaker.given_up(began)
        raise
    except BaseException:
        breaker.answered()
        raise
    breaker.answered()
    return result
