"""Work that many wait for and that is done once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio


V = TypeVar("V")


class Once(Generic[V]):
    """Remembers the result of each key's work. Work that raises or is cancelled may be redone."""

    def __init__(self) -> None:
        self._values: dict[Hashable, V] = {}
        self._locks: dict[Hashable, asyncio.Lock] = {}

    async def get(self, key: Hashable, work: Callable[[], Awaitable[V]]) -> V:
        """Return the result of `work` for this key; the first who asks does it, others wait."""
        import asyncio  # `plan` imports the registry, and start-up time is a promise

        if key not in self._values:
            async with self._locks.setdefault(key, asyncio.Lock()):
                if key not in self._values:
                    self._values[key] = await work()
        return self._values[key]
