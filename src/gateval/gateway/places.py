"""Places are for work: who waits for a provider gives its place away, and has one again first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar


class Places:
    """So many things at once. Who had a place before gets the next one that is free. `spare` is
    called when a place is given away for a while.
    """

    def __init__(self, size: int, spare: Callable[[], None] = lambda: None) -> None:
        self.spare = spare
        self._free = size
        self._back: deque[asyncio.Future[None]] = deque()
        self._new: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for a place, after all who asked before."""
        if self._free > 0 and not self._new and not self._back:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._new.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    async def take_again(self) -> None:
        """Wait for a place, before all who have not begun. Whoever is cancelled meanwhile has one
        too many all the same: it only wants to put its things away.
        """
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._back.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._free -= 1
            raise

    def overdraw(self) -> None:
        """Have a place, whether one is free or not."""
        self._free -= 1

    def leave(self) -> None:
        """Give a place back."""
        self._free += 1
        while self._free > 0 and (self._back or self._new):
            turn = (self._back or self._new).popleft()
            if not turn.done():
                self._free -= 1
                turn.set_result(None)


class Holder:
    """Who has a place in each of `places`, and how many of its calls are under way and wait."""

    def __init__(self, places: tuple[Places, ...]) -> None:
        self._places = places
        self._calls = self._waiting = 0
        self._has = True
        self._taking = asyncio.Lock()

    async def begin(self) -> None:
        """A call begins; `end` has to follow, whatever becomes of this."""
        self._calls += 1
        await self._have()

    def end(self) -> None:
        """A call is over."""
        self._calls -= 1
        self._give_away()

    async def aside(self, waited: Awaitable[object]) -> None:
        """Wait in a call, without the places if all that is done here is to wait."""
        self._waiting += 1
        self._give_away()
        try:
            await waited
        finally:
            self._waiting -= 1
            await self._have()

    def _give_away(self) -> None:
        if self._has and 0 < self._calls == self._waiting:
            self._has = False
            for one in reversed(self._places):
                one.leave()
            for one in self._places:
                one.spare()

    async def _have(self) -> None:
        if not self._has:
            async with self._taking:
                await self._take_again()

    async def _take_again(self) -> None:
        if self._has:
            return
        left = list(self._places)
        try:
            while left:
                await left.pop(0).take_again()
        finally:
            for one in left:
                one.overdraw()
            self._has = True


HELD: ContextVar[Holder | None] = ContextVar("held", default=None)
"""Whose calls those of the current task are."""


@asynccontextmanager
async def placed(*places: Places) -> AsyncIterator[None]:
    """Have a place in each of them, taken in this order; calls made within may give them away."""
    taken: list[Places] = []
    try:
        for one in places:
            await one.take()
            taken.append(one)
        held = HELD.set(Holder(places))
        try:
            yield
        finally:
            HELD.reset(held)
    finally:
        for one in reversed(taken):
            one.leave()


@contextmanager
def keeping() -> Iterator[None]:
    """Have calls made within give no place away: a program waits with them, and takes memory."""
    held = HELD.set(None)
    try:
        yield
    finally:
        HELD.reset(held)


async def aside(waited: Awaitable[object]) -> None:
    """Wait in a call, without the places of whoever makes it."""
    holder = HELD.get()
    await (waited if holder is None else holder.aside(waited))
