"""Whether an answer asks for another attempt, and after which wait."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

RETRIED_BELOW_500 = frozenset({408, 429})


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
