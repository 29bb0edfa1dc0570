"""When a model call is made again, what went wrong with it, and when a model is given up.

Each call is patient by itself, since providers hiccup. While it waits to be made again, whoever
makes it gives its place away.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from pydantic import Field
from tenacity import AsyncRetrying, RetryCallState
from tenacity.retry import retry_if_exception_type
from tenacity.stop import stop_after_attempt, stop_before_delay
from tenacity.wait import wait_random_exponential

from gateval.domain.base import Value
from gateval.domain.manifests.gate_config import Policy, ProviderRate
from gateval.domain.trials.model_call import Caller
from gateval.domain.trials.trace import CallCost
from gateval.gateway.places import HELD, aside
from gateval.gateway.upstream.breaker import CircuitBreaker
from gateval.gateway.upstream.pace import Pace
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.wire.base import WireError, read_object

if TYPE_CHECKING:
    from gateval.gateway.ledger import CallEntry


RETRIED_BELOW_500 = frozenset({408, 429})


def is_transient(status: int, headers: Mapping[str, str]) -> bool:
    """Whether an answer with this status is worth another attempt. Both official SDKs let the
    provider forbid it by `x-should-retry: false`; so do we.
    """
    if headers.get("x-should-retry") == "false":
        return False
    return status in RETRIED_BELOW_500 or status >= 500


def asked_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return the wait in seconds that `retry-after-ms` or `Retry-After` asks for, or None.

    `now` is Unix time, for `Retry-After` as a date (RFC 9110, section 10.2.3). A wait that is
    over, or no number, counts as none.
    """
    header = headers.get("Retry-After", "")
    readings: tuple[Callable[[], float], ...] = (
        lambda: float(headers.get("retry-after-ms", "")) / 1000,
        lambda: float(header),
        lambda: parsedate_to_datetime(header).timestamp() - now,
    )
    for read in readings:
        with suppress(ValueError, OverflowError):
            wait = read()
            return wait if wait > 0 else None
    return None


class Wait(NamedTuple):
    """When a provider that refused or dropped a call was waited for, by the monotonic clock."""

    begin: float
    end: float


class Tries:
    """How often a call was made, and since when.

    `failure` says in a sentence how the latest attempt ended that failed, or nothing. `most` is how
    many tokens the answer may have, None if the request does not say; `entry` is the latest attempt
    in the account of the run; `caller` is who makes the call, where calls are recorded.
    """

    def __init__(self, most: int | None = None, caller: Caller | None = None) -> None:
        self.caller = caller
        self.count = 0
        self.failure = ""
        self.most = most
        self.entry: CallEntry | None = None
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
    seconds. A model of which nothing got through for `outage_seconds` is given up.
    """

    attempts: int = Field(default=8, ge=1)
    total_seconds: float = Field(default=300, gt=0)
    first_wait: float = Field(default=0.5, ge=0)
    longest_wait: float = Field(default=20, ge=0)
    longest_asked: float = Field(default=60, ge=0)
    outage_seconds: float = Field(default=180, ge=0)

    @classmethod
    def under(cls, policy: Policy, seconds: float | None) -> Self:
        """The policy of a run, whose machine may say after how many seconds to give a model up."""
        given = policy.max_outage * 60 if seconds is None else seconds
        return cls(outage_seconds=given)


class AttemptFailed(Exception):
    """Why an attempt failed; the text goes on after the provider's name. `fault` is what it means
    for the caller, `asked` the wait asked for, in seconds; `status` the HTTP status, if there was
    one; `sent` whether anything of the call went out.
    """

    fault = ModelCallFault.UNREADABLE
    sent = True

    def __init__(
        self, message: str, *, asked: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.asked = asked
        self.status = status


class Transient(AttemptFailed):
    """That may pass."""

    fault = ModelCallFault.OUTAGE


class GivenUp(Transient):
    """Nothing of this model got through for so long that it is not asked any more."""

    fault = ModelCallFault.GIVEN_UP


class Denied(AttemptFailed):
    """The account is refused, however often we ask."""

    fault = ModelCallFault.DENIED


class Unreached(Transient):
    """The provider was not reached, so it saw nothing of the call."""

    sent = False


class Garbled(Transient):
    """A success that is no reply in the provider's format, cut off on its way perhaps."""

    fault = ModelCallFault.UNREADABLE


class Unanswerable(AttemptFailed):
    """No sensible answer will come however often we ask."""


class Untrusted(Unanswerable):
    """Nobody whom we trust has signed the provider's certificate."""

    fault = ModelCallFault.UNCONFIGURED
    sent = False


class Misled(Unanswerable):
    """Somebody else than the provider is at the other end, who is sent nothing."""

    sent = False


def call_error(provider: str, failure: AttemptFailed) -> ModelCallError:
    """Return what a failed attempt means for the caller."""
    message = sentence(f"{provider} {failure}")
    return ModelCallError(failure.fault, message, status=failure.status)


def retrying(policy: RetryPolicy, breaker: CircuitBreaker) -> AsyncRetrying:
    """Return what calls a function again on `Transient`, and raises the last one in the end. A
    model whose `breaker` is lost is not called again.
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
        return breaker.lost or enough(state) or late(state)

    return AsyncRetrying(
        sleep=lambda seconds: aside(asyncio.sleep(seconds)),
        stop=stop,
        wait=wait,
        retry=retry_if_exception_type(Transient),
        reraise=True,
    )


class Retrier:
    """Makes the calls to one provider, each again on `Transient` as the policy says, and as fast as
    the provider takes them; `rate` is what it is declared to allow.
    """

    def __init__(self, policy: RetryPolicy, rate: ProviderRate | None = None) -> None:
        self.pace = Pace(rate)
        self._policy = policy
        self._models: dict[str, tuple[CircuitBreaker, AsyncRetrying]] = {}

    @property
    def silent(self) -> Mapping[str, float]:
        """The models that answer no call, each with for how many seconds."""
        return {
            model: seconds
            for model, (breaker, _) in self._models.items()
            if model and (seconds := breaker.silent())
        }

    def gave_up(self, model: str) -> str:
        """Return why a model is not asked any more, as a clause; empty where it is."""
        breaker = self._models[model][0] if model in self._models else None
        return self._given_up(breaker) if breaker is not None and breaker.lost else ""

    def _given_up(self, breaker: CircuitBreaker) -> str:
        seconds = f"{self._policy.outage_seconds:g} s"
        return f"answered no call of this model for {seconds}; at last it {breaker.latest}"

    async def __call__(
        self,
        model: str,
        attempt: Callable[[], Awaitable[Result]],
        tries: Tries,
        *,
        tokens: float = 0,
    ) -> Result:
        """Return what `attempt` gives, which may take `tokens`; raise its last `Transient` when
        that was in vain.

        Outages are those of `model`: where one is down, others may answer. Each attempt is counted
        in `tries`. The first is made beforehand and only handed to tenacity if it failed: most
        calls need no retry, and its bookkeeping takes a third of the gate's own time for a call.
        """
        # A candidate that invents names has one breaker for all the rest.
        name = model if model in self._models or len(self._models) < MODELS_WATCHED else ""
        if name not in self._models:
            breaker = CircuitBreaker(self._policy.outage_seconds)
            self._models[name] = (breaker, retrying(self._policy, breaker))
        breaker, again_on_failure = self._models[name]
        failures: list[Transient] = []

        async def again() -> Result:
            if failures:
                raise failures.pop()
            return await self._felt(breaker, attempt, tries, tokens)

        holder = HELD.get()
        try:
            if holder is not None:
                await holder.begin()
            try:
                return await self._felt(breaker, attempt, tries, tokens)
            except Transient as error:
                failures.append(error)
            result: Result = await again_on_failure.copy()(again)
            return result
        finally:
            if holder is not None:
                holder.end()

    async def _felt(
        self,
        breaker: CircuitBreaker,
        attempt: Callable[[], Awaitable[Result]],
        tries: Tries,
        tokens: float,
    ) -> Result:
        if not await breaker.admitted():
            raise GivenUp(self._given_up(breaker))
        try:
            turn = await self.pace.begin(tokens)
        except BaseException:
            breaker.withdrawn()
            raise
        answered = limited = False
        began = breaker.begin()
        tries.begin()
        try:
            result = await attempt()
            answered = True
        except Transient as failure:
            limited = failure.status in TOO_MANY
            tries.failed()
            breaker.failed(began, str(failure))
            raise
        except (asyncio.CancelledError, ModelCallError):
            breaker.given_up(began)
            raise
        except BaseException:
            breaker.answered()
            raise
        else:
            breaker.answered()
            return result
        finally:
            self.pace.end(turn, answered=answered, limited=limited)


TOO_MANY = frozenset({429, 529})
"""Statuses of a provider that gets more than it takes."""


_STATUSES = frozenset({400, 403, 429})
_CODES = frozenset({
    "insufficient_quota", "billing_not_active", "billing_hard_limit_reached", "billing_error",
})  # fmt: skip
"""OpenAI's `error.code` or `error.type`, and Anthropic's `error.type`."""

_SENTENCE = "Your credit balance is too low"
"""How Anthropic's message begins, whose type is that of any wrong request."""


def cannot_pay(status: int, body: bytes) -> bool:
    """Whether an answer with this HTTP status says that the account has nothing left. A message
    that quotes the request is no such answer: only its beginning and its code count.
    """
    if status not in _STATUSES:
        return False
    try:
        error = read_object(body).get("error")
    except WireError:
        return False
    if not isinstance(error, dict):
        return False
    coded = any(str(error.get(key)) in _CODES for key in ("code", "type"))
    return coded or str(error.get("message", "")).startswith(_SENTENCE)


_MEANINGS = {
    401: "the key is refused",
    402: "the account cannot pay",
    403: "the key is not allowed to do this",
    404: "no such model or address; look at spec.models of the Agent or judge.model of the Eval",
    413: "the request is too large",
    429: "too many requests",
    529: "overloaded",
}
_FAULT_STATUSES = {
    ModelCallFault.OUTAGE: 503,
    ModelCallFault.DENIED: 403,
    ModelCallFault.REJECTED: 400,
    ModelCallFault.UNREADABLE: 502,
    ModelCallFault.UNCONFIGURED: 400,
    ModelCallFault.BUDGET: 429,
    ModelCallFault.HELD: 503,
    ModelCallFault.UNRECORDED: 400,
    ModelCallFault.GIVEN_UP: 503,
}


def fault_of(status: int) -> ModelCallFault:
    """Return the fault that an HTTP status other than 2xx stands for."""
    if status in {401, 402, 403}:
        return ModelCallFault.DENIED
    if status in {408, 429} or status >= 500:
        return ModelCallFault.OUTAGE
    return ModelCallFault.REJECTED if status >= 400 else ModelCallFault.UNREADABLE


def status_text(status: int, said: str, *, no_quota: bool = False) -> str:
    """Return the end of a sentence on an answer other than 2xx; `said` is its own message.
    `no_quota` where it says that the account has nothing left, which waiting does not mend.
    """
    meaning = _MEANINGS.get(status, "")
    if no_quota:
        meaning = "the account has no quota left; look at its plan and billing"
    if 300 <= status < 400:
        meaning = "a redirect, which is not followed; check the base URL"
    detail = f" ({meaning})" if meaning else ""
    return f"answered {status}{detail}{f': {said}' if said else ''}"


def status_error(provider: str, status: int, said: str) -> ModelCallError:
    """Return the error for an answer with a status other than 2xx; `said` is its own message."""
    message = sentence(f"{provider} {status_text(status, said)}")
    return ModelCallError(fault_of(status), message, status=status)


def unreadable(provider: str, why: str) -> ModelCallError:
    """Return the error for a 2xx answer that is no reply; `why` is a `WireError`'s text."""
    message = sentence(f"{provider} answered with {why}")
    return ModelCallError(ModelCallFault.UNREADABLE, message)


def http_status(error: ModelCallError) -> int:
    """Return the status with which the local server passes `error` on to a candidate. That of an
    account without quota is one that clients take for final: they try 429 again.
    """
    if error.lasting and error.status == 429:
        return _FAULT_STATUSES[error.fault]
    if error.status is not None and error.status >= 400:
        return error.status
    return _FAULT_STATUSES[error.fault]


def sentence(text: str) -> str:
    """Return `text` with a full stop, unless it ends like a sentence already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
