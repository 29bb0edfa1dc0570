"""Who waits for a provider gives its place away, and has one again before those that begin."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gateval.gateway.places import HELD, Places, aside, keeping, placed


async def turns() -> None:
    """Let everybody go on who can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def calls(waited: Awaitable[object]) -> None:
    """Make a call that waits, as the gateway does."""
    holder = HELD.get()
    if holder is not None:
        await holder.begin()
    try:
        await aside(waited)
    finally:
        if holder is not None:
            holder.end()


def test_a_place_is_given_away_while_its_call_waits_and_taken_again_first() -> None:
    async def run() -> list[str]:
        said: list[str] = []
        places, gate = Places(1), asyncio.Event()
        end = {name: asyncio.Event() for name in "bc"}

        async def waits() -> None:
            async with placed(places):
                said.append("a waits")
                await calls(gate.wait())
                said.append("a goes on")

        async def works(name: str) -> None:
            async with placed(places):
                said.append(f"{name} works")
                await end[name].wait()
                said.append(f"{name} ends")

        tasks = [asyncio.create_task(one) for one in (waits(), works("b"), works("c"))]
        await turns()
        gate.set()
        await turns()
        assert said == ["a waits", "b works"], "there is one place"
        end["b"].set()
        end["c"].set()
        await asyncio.gather(*tasks)
        return said

    assert asyncio.run(run())[2:] == ["b ends", "a goes on", "c works", "c ends"]


def test_who_still_works_keeps_its_place() -> None:
    async def run() -> None:
        places, gate = Places(1), asyncio.Event()
        async with placed(places):
            holder = HELD.get()
            assert holder is not None
            await holder.begin()  # another call is under way, and does not wait
            one = asyncio.create_task(calls(gate.wait()))
            other = asyncio.create_task(places.take())
            await turns()
            assert not other.done()
            holder.end()
            await turns()
            assert other.done(), "now all that is done is to wait"
            places.leave()
            gate.set()
            await one

    asyncio.run(run())


def test_programs_keep_their_place() -> None:
    async def run() -> None:
        places, gate = Places(1), asyncio.Event()
        async with placed(places):
            with keeping():
                one = asyncio.create_task(calls(gate.wait()))
            other = asyncio.create_task(places.take())
            await turns()
            assert not other.done()
            gate.set()
            await one
            other.cancel()

    asyncio.run(run())


def test_whatever_is_cancelled_no_place_is_lost_or_won() -> None:
    """Each of the tasks is cancelled after each number of turns, with two places that go together."""

    async def run(victim: int, after: int) -> None:
        few, many, gate = Places(1), Places(2), asyncio.Event()

        async def waits() -> None:
            async with placed(few, many):
                await calls(gate.wait())
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(waits()) for _ in range(4)]
        for turn in range(40):
            if turn == after:
                tasks[victim].cancel()
            if turn == 12:
                gate.set()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        for places, size in ((few, 1), (many, 2)):
            for _ in range(size):
                await asyncio.wait_for(places.take(), 10)
            more = asyncio.create_task(places.take())
            await turns()
            assert not more.done()
            more.cancel()

    for victim in range(4):
        for after in range(30):
            asyncio.run(run(victim, after))


def test_somebody_begins_in_the_place_that_was_given_away() -> None:
    async def run() -> int:
        begun: list[Callable[[], None]] = []
        places = Places(1)
        places.spare = lambda: begun.append(places.leave)
        async with placed(places):
            await calls(asyncio.sleep(0))
        return len(begun)

    assert asyncio.run(run()) == 1
