"""Goes on with a remote that others write to at the same time, or that is away for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from tenacity import RetryCallState, Retrying
from tenacity.retry import retry_if_exception
from tenacity.stop import stop_after_attempt, stop_any, stop_before_delay
from tenacity.wait import wait_random_exponential

from gateval.adapters.git.records.refusals import Refusal, RefusalKind, refusal
from gateval.errors import RecordsError, RepositoryError

T = TypeVar("T")


class PushRetries(NamedTuple):
    """How long to go on when others write at the same time, or the remote is out of reach.

    No attempt starts later than `seconds` after the first, and none after the outage of that
    number. Waits are random; they begin at about `race_wait` or `outage_wait` seconds and grow to
    20 times that. One git process may take `process_seconds`. What was preloaded is read within
    `fresh_seconds`, and asked for anew after that.
    """

    attempts: int = 60
    seconds: float = 120
    outages: int = 3
    race_wait: float = 0.05
    outage_wait: float = 2
    process_seconds: float = 60
    fresh_seconds: float = 60


PATIENCE = PushRetries()


class RemoteRefused(Exception):
    """One attempt that the remote refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.error.message)
        self.refusal = refusal


def persistently(
    retries: PushRetries, attempt: Callable[[], T], *, action: str, ref: str, where: str
) -> T:
    """Make an attempt again while others are quicker, and some times after outages.

    `action` (`read` or `write`), `ref` and `where` are for the sentence of the `RecordsError` that
    says why it was given up.
    """
    outages = 0

    def again(error: BaseException) -> bool:
        nonlocal outages
        kind = error.refusal.kind if isinstance(error, RemoteRefused) else RefusalKind.FINAL
        outages += kind is RefusalKind.OUTAGE
        return kind is RefusalKind.RACE or (
            kind is RefusalKind.OUTAGE and outages < retries.outages
        )

    def pause(state: RetryCallState) -> float:
        error = state.outcome and state.outcome.exception()
        outage = isinstance(error, RemoteRefused) and error.refusal.kind is RefusalKind.OUTAGE
        first = retries.outage_wait if outage else retries.race_wait
        return wait_random_exponential(multiplier=first, max=20 * first)(state)

    retrying = Retrying(
        retry=retry_if_exception(again),
        stop=stop_any(stop_after_attempt(retries.attempts), stop_before_delay(retries.seconds)),
        wait=pause,
        reraise=True,
    )
    try:
        return retrying(attempt)
    except RemoteRefused as refused:
        raise refused.refusal.error from None
    except RepositoryError as error:
        raise refusal(action, ref, where, error.message).error
    except OSError as error:
        raise RecordsError(
            f"Gateval cannot {action} {ref} at {where}: {error.strerror}."
        ) from error
