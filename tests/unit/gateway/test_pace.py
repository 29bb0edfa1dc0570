"""Calls to a provider side by side: halved by 429s, one more a round of answers, and as declared."""

from __future__ import annotations

import asyncio

import pytest

from gateval.domain.manifests.gate_config import ProviderRate
from gateval.gateway.upstream.pace import Pace, RateLimiter


class Hands:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_429s_halve_once_a_round_and_answers_add_one_a_round() -> None:
    async def run() -> None:
        clock = Hands()
        pace = Pace(clock=clock)
        round_ = [await pace.begin(0) for _ in range(100)]
        clock.now += 1
        for began in round_:
            pace.end(began, limited=True)
        assert pace.at_once == 50, "they were under way together"
        for expected in (51, 52, 53):
            clock.now += 1
            round_ = [await pace.begin(0) for _ in range(int(pace.at_once))]
            for began in round_:
                pace.end(began, answered=True)
            assert pace.at_once == pytest.approx(expected, abs=0.1)
        for _ in range(20):
            clock.now += 1
            began = await pace.begin(0)
            clock.now += 1
            pace.end(began, limited=True)
        assert pace.at_once == 1, "never less"

    asyncio.run(run())


def test_no_more_go_on_at_once_than_are_let_through() -> None:
    async def run() -> None:
        clock = Hands()
        pace = Pace(clock=clock)
        together = [await pace.begin(0) for _ in range(4)]
        clock.now += 1
        pace.end(together[0], limited=True)
        waiting = [asyncio.create_task(pace.begin(0)) for _ in range(3)]
        await asyncio.sleep(0)
        for began in together[1:3]:
            pace.end(began)
        waiting[0].cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [one.done() for one in waiting] == [True, True, False], "two at once, one is gone"
        pace.end(together[3])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert waiting[2].done()

    asyncio.run(run())


def test_calls_and_tokens_are_spread_as_declared() -> None:
    clock = Hands()
    calls = RateLimiter(per_second=2, burst=2, clock=clock)
    assert [calls.wait() for _ in range(4)] == [0, 0, 0.5, 1]
    clock.now += 60
    assert [calls.wait() for _ in range(3)] == [0, 0, 0.5], "a second's worth at once, not more"
    tokens = RateLimiter(per_second=100, burst=1, clock=clock)
    assert tokens.wait(500) == 0, "a large one goes when it is the first"
    assert tokens.wait(10) == pytest.approx(5)
    tokens.correct(-400)  # it took 100 only
    assert tokens.wait(10) == pytest.approx(1.1)


def test_a_pace_waits_for_both() -> None:
    async def run() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        pace = Pace(ProviderRate(rpm=1200, tpm=60_000))
        began = loop.time()
        for _ in range(21):
            pace.end(await pace.begin(1), answered=True)
        calls = loop.time() - began
        pace.took(1, 1_501)  # a second's worth and half of one more
        await pace.begin(1)
        return calls, loop.time() - began - calls

    calls, tokens = asyncio.run(run())
    assert calls >= 0.04, "twenty a second at once, then one each 50 ms"
    assert tokens >= 0.2
