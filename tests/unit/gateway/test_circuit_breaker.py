"""A model is down only after nothing got through for long enough; then one call at a time tries it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from gateval.gateway.upstream.breaker import QUIET_SECONDS, CircuitBreaker


class Hands:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def attempt(breaker: CircuitBreaker) -> float:
    assert asyncio.run(_at_once(breaker.admitted()))
    return breaker.begin()


async def _at_once(admitted: Awaitable[bool]) -> bool | None:
    """Return what it says without waiting; None where it waits."""
    task = asyncio.ensure_future(admitted)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if task.done():
        return task.result()
    task.cancel()
    return None


def test_a_model_is_given_up_after_failures_alone() -> None:
    clock = Hands()
    breaker = CircuitBreaker(10, clock)
    breaker.failed(attempt(breaker))
    clock.now += 9
    breaker.failed(attempt(breaker))
    clock.now += 1
    found = [breaker.lost]
    breaker.failed(attempt(breaker))
    assert [*found, breaker.lost] == [False, True], "the tenth second's failure says so"
    clock.now += 1000
    assert asyncio.run(_at_once(breaker.admitted())) is False, "for good"


def test_an_answer_ends_an_outage() -> None:
    clock = Hands()
    breaker = CircuitBreaker(10, clock)
    breaker.failed(attempt(breaker))
    clock.now += 9
    attempt(breaker)
    breaker.answered()
    clock.now += 9
    breaker.failed(attempt(breaker))
    assert not breaker.lost
    assert breaker.silent() == 0


def test_two_failures_long_apart_are_no_outage() -> None:
    clock = Hands()
    breaker = CircuitBreaker(180, clock)
    breaker.failed(attempt(breaker))
    clock.now += 180 + QUIET_SECONDS
    breaker.failed(attempt(breaker))
    assert not breaker.lost, "nobody asked in between"


def test_a_hang_counts_from_when_it_began() -> None:
    clock = Hands()
    breaker = CircuitBreaker(100, clock)
    hanging = attempt(breaker)
    clock.now += 60
    assert breaker.silent() == 60
    breaker.given_up(hanging)
    clock.now += 40
    breaker.failed(attempt(breaker))
    assert breaker.lost


def test_who_leaves_soon_says_nothing() -> None:
    clock = Hands()
    breaker = CircuitBreaker(5, clock)
    began = attempt(breaker)
    clock.now += 9
    breaker.given_up(began)
    clock.now += 99
    assert not breaker.silent()


def test_a_model_that_is_down_is_tried_by_one_call_at_a_time() -> None:
    async def run() -> None:
        clock = Hands()
        breaker = CircuitBreaker(180, clock)

        async def admitted() -> bool | None:
            return await _at_once(breaker.admitted())

        assert await admitted()
        breaker.failed(breaker.begin())
        clock.now += 29
        assert [await admitted(), await admitted()] == [True, True], "it may be a hiccup"
        breaker.failed(breaker.begin())
        breaker.withdrawn()
        clock.now += 1
        assert [await admitted(), await admitted()] == [True, None], "the others wait"
        breaker.failed(breaker.begin())
        assert await admitted() is None, "for a while nobody asks"
        clock.now += 5
        assert await admitted()
        breaker.answered()
        assert [await admitted(), await admitted()] == [True, True]

    asyncio.run(run())


def test_whoever_waits_goes_on_with_the_first_answer() -> None:
    async def run() -> None:
        clock = Hands()
        breaker = CircuitBreaker(180, clock)
        await breaker.admitted()
        breaker.failed(breaker.begin())
        clock.now += 30
        await breaker.admitted()
        breaker.begin()
        waiting = [asyncio.ensure_future(breaker.admitted()) for _ in range(20)]
        await asyncio.sleep(0)
        breaker.answered()
        assert await asyncio.gather(*waiting) == [True] * 20

    asyncio.run(run())


def test_a_try_that_hangs_for_too_long_ends_the_others_waiting() -> None:
    clock = Hands()
    breaker = CircuitBreaker(180, clock)
    breaker.failed(attempt(breaker))
    clock.now += 30
    attempt(breaker)
    clock.now += 150
    assert asyncio.run(_at_once(breaker.admitted())) is False
    assert breaker.lost


def test_without_patience_nothing_is_tried_again() -> None:
    breaker = CircuitBreaker(0, Hands())
    breaker.failed(attempt(breaker))
    assert breaker.lost
