"""Starts are kept apart, in the order in which they are asked for."""

from __future__ import annotations

import asyncio

from gateval.engine.spacing import StartSpacing

APART = 0.005
CLOCK = 0.001
"""How much too early a loop may call."""


async def starts(spacing: StartSpacing, askers: int) -> list[tuple[int, float]]:
    """Let several ask at once; give who started when."""
    started: list[tuple[int, float]] = []

    async def ask(number: int) -> None:
        await spacing.turn()
        started.append((number, asyncio.get_running_loop().time()))

    await asyncio.gather(*(ask(number) for number in range(askers)))
    return started


def test_those_who_ask_together_start_apart_and_in_order() -> None:
    started = asyncio.run(starts(StartSpacing(100, APART), 6))
    assert [number for number, _ in started] == list(range(6))
    first = started[0][1]
    assert all(when >= first + number * APART - CLOCK for number, when in started)


def test_who_asks_alone_does_not_wait() -> None:
    async def ask() -> None:
        spacing = StartSpacing(100, 3600)
        await spacing.turn()

    asyncio.run(ask())


def test_who_gives_up_waiting_does_not_stop_the_next() -> None:
    async def ask() -> list[tuple[int, float]]:
        spacing = StartSpacing(100, APART)
        await spacing.turn()
        waiting = asyncio.create_task(spacing.turn())
        await asyncio.sleep(0)
        waiting.cancel()
        return await starts(spacing, 1)

    assert len(asyncio.run(ask())) == 1


def test_it_never_holds_back_a_fast_provider() -> None:
    async def ask() -> float:
        spacing, loop = StartSpacing(100, 3600), asyncio.get_running_loop()
        spacing.ended(loop.time() - 0.02)  # a trial took 20 ms: 5,000 a second have room
        await spacing.turn()
        began = loop.time()
        await starts(spacing, 10)
        return loop.time() - began

    assert asyncio.run(ask()) < 3600, "ten starts waited for 0.1 ms each, not for an hour"
