"""When a request is made again, and after which wait. Pure.

GitHub's rules (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api):
on 403 or 429 obey `retry-after`; else, when `x-ratelimit-remaining` is 0, wait until
`x-ratelimit-reset`; else wait at least one minute, longer each time. Secondary limits come as 403
too, at times without any header, and are told from a missing permission by their words.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from gateval.adapters.github.response import ApiResponse
from gateval.domain.base import Value

_LIMIT_WORDS = re.compile(r"rate limit|abuse detection|retry your request again later", re.I)


class RetryLimits(Value):
    """How long the gate waits for GitHub, in seconds.

    `total_seconds` bounds all waits of one forge together, tries that came to nothing included.
    `attempts` counts the first one. `first_wait` doubles with each attempt that GitHub failed;
    `limit_wait` does with each that met a rate limit of unknown length. `timeout_seconds` is for
    one answer. `between_writes` keeps below the limits for content, after the first `quick_writes`.
    """

    total_seconds: float = Field(default=600, ge=0)
    attempts: int = Field(default=5, ge=1)
    first_wait: float = Field(default=1, ge=0)
    limit_wait: float = Field(default=60, ge=0)
    timeout_seconds: int = Field(default=20, ge=1)
    between_writes: float = Field(default=0.25, ge=0)
    quick_writes: int = Field(default=4, ge=0)


class Trouble(StrEnum):
    """Why a request may be worth another attempt."""

    LIMIT = "rate limit"
    OUTAGE = "outage"


class Pause(NamedTuple):
    """What went wrong, and the wait in seconds before the next attempt."""

    trouble: Trouble
    seconds: float


def is_limited(answer: ApiResponse) -> bool:
    """Whether this answer means that there were too many requests."""
    if answer.status == 429:
        return True
    if answer.status != 403:
        return False
    headers = answer.headers
    exhausted = headers.get("x-ratelimit-remaining") == "0"
    return exhausted or "retry-after" in headers or bool(_LIMIT_WORDS.search(answer.said))


def pause_after(
    answer: ApiResponse | None, attempt: int, limits: RetryLimits, *, now: float
) -> Pause | None:
    """Return the pause before the next attempt, or None when none would help.

    `answer` is None when the connection broke or timed out. `attempt` counts from 1. `now` is Unix
    time.
    """
    if answer is None or answer.status >= 500 or answer.status == 408:
        return Pause(Trouble.OUTAGE, limits.first_wait * 2 ** (attempt - 1))
    if not is_limited(answer):
        return None
    asked = _number(answer, "retry-after")
    if asked is None and answer.headers.get("x-ratelimit-remaining") == "0":
        reset = _number(answer, "x-ratelimit-reset")
        asked = None if reset is None else max(reset - now, 0) + 1
    if asked is None:
        asked = limits.limit_wait * 2 ** (attempt - 1)
    return Pause(Trouble.LIMIT, asked)


def _number(answer: ApiResponse, header: str) -> float | None:
    try:
        number = float(answer.headers.get(header, ""))
    except ValueError:
        return None
    return number if 0 <= number < 1e11 else None
