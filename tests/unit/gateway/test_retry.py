"""When a call is made again, and after which wait."""

from __future__ import annotations

import asyncio

import pytest

from gateval.gateway.upstream.breaker import CircuitBreaker
from gateval.gateway.upstream.retry import (
    Garbled,
    RetryPolicy,
    Transient,
    Wait,
    asked_wait,
    is_transient,
    retrying,
    together,
)

NOON = 1445412480.0
"""Wed, 21 Oct 2015 07:28:00 GMT."""


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "0"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"}, 30),
        ({"Retry-After": "Wed, 21 Oct 2015 07:27:30 GMT"}, None),
        ({"Retry-After": "Wed, 99 Oct 2015 07:28:30 GMT"}, None),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 0.25),
        ({"retry-after-ms": "x", "Retry-After": "7"}, 7),
    ],
)
def test_asked_wait(headers: dict[str, str], expected: float | None) -> None:
    assert asked_wait(headers, now=NOON) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *((status, True) for status in (408, 429, 500, 503, 529)),
        *((status, False) for status in (200, 307, 400, 401, 404, 409, 422)),
    ],
)
def test_is_transient(status: int, expected: bool) -> None:
    assert is_transient(status, {}) is expected
    assert not is_transient(status, {"x-should-retry": "false"})


def waits(policy: RetryPolicy, *asked: float | None) -> list[float]:
    """Fail once for each of `asked`, and return the waits in between, without waiting."""
    slept: list[float] = []
    failures = list(asked)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def fail() -> None:
        if failures:
            raise Transient("failed", asked=failures.pop(0))

    async def run() -> None:
        again = retrying(policy, CircuitBreaker(policy.outage_seconds)).copy(sleep=sleep)
        await again(fail)

    try:
        asyncio.run(run())
    except Transient:
        slept.append(-1)
    return slept


def test_waits_grow_between_their_limits() -> None:
    policy = RetryPolicy(attempts=5, first_wait=1, longest_wait=3)
    first, second, third, fourth = waits(policy, None, None, None, None)
    assert 0.5 <= first <= 1
    assert 0.5 <= second <= 2
    assert 0.5 <= third <= 3
    assert 0.5 <= fourth <= 3


def test_what_the_provider_asks_for_is_kept_up_to_a_limit() -> None:
    assert waits(RetryPolicy(longest_asked=60, total_seconds=1000), 7.5, 3600) == [7.5, 60]


def test_attempts_and_time_are_limited() -> None:
    assert len(waits(RetryPolicy(attempts=3), 1, 1, 1)) == 3, "two waits, then the error"
    assert waits(RetryPolicy(total_seconds=10), 11) == [-1], "it would start too late"


def test_what_is_garbled_is_asked_for_three_times() -> None:
    asked = 0

    async def fail() -> None:
        nonlocal asked
        asked += 1
        raise Garbled("answered with no JSON")

    async def run() -> None:
        policy = RetryPolicy(attempts=9, first_wait=0)
        await retrying(policy, CircuitBreaker(policy.outage_seconds))(fail)

    with pytest.raises(Garbled):
        asyncio.run(run())
    assert asked == 3


@pytest.mark.parametrize(
    ("waits", "seconds"),
    [
        ([], 0),
        ([Wait(1, 3)], 2),
        ([Wait(5, 6), Wait(1, 3)], 3),
        ([Wait(1, 4), Wait(2, 3), Wait(3, 5)], 4),
    ],
)
def test_waits_side_by_side_count_once(waits: list[Wait], seconds: float) -> None:
    assert together(waits) == seconds
