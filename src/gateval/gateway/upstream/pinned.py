"""Names that mean this machine stay what they meant before a candidate ran.

Resolved anew for each connection, `localhost` leads to `[::1]` once somebody listens there, who is
then sent a key. A name that leads off this machine is resolved as ever, but is not followed back to
it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from gateval.gateway.peers import NotTheirs, is_own, plain_address

RESOLVE_SECONDS = 2.0
"""How long a name is waited for at the start. One that means this machine is known at once."""

CONNECT_SECONDS = 1.0

Pins = Mapping[tuple[str, int], tuple[str, ...]]
"""The addresses of names, by name and port, that mean this machine: the first that answered."""


async def pins_of(urls: Iterable[str]) -> Pins:
    """Return what the hosts of these URLs mean, of those that mean this machine."""
    places = {_place(url) for url in urls}
    named = sorted(place for place in places if place[0] and not plain_address(place[0]))
    found = await asyncio.gather(*(_pin(host, port) for host, port in named))
    return {place: pinned for place, pinned in zip(named, found, strict=True) if pinned}


class PinnedResolver(AbstractResolver):
    """Resolves by `pins`, else as ever. Raises `NotTheirs` for a name that has moved to here."""

    def __init__(self, pins: Pins) -> None:
        self._pins = pins
        self._names = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """See aiohttp."""
        pinned = self._pins.get((host.lower().rstrip("."), port))
        if pinned is not None:
            return [_result(host, address, port) for address in pinned]
        found = await self._names.resolve(host, port, family)
        kept = [one for one in found if not _means_here(one["host"])]
        if not kept:
            raise NotTheirs("did not lead to this machine when the run began, and does now")
        return kept

    async def close(self) -> None:
        """See aiohttp."""
        await self._names.close()


def leads_here(url: str) -> bool:
    """Whether a URL names an address of this machine in digits."""
    return _means_here(_place(url)[0])


async def _pin(host: str, port: int) -> tuple[str, ...]:
    loop = asyncio.get_running_loop()
    with suppress(OSError, UnicodeError, TimeoutError):
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = tuple(dict.fromkeys(str(one[4][0]) for one in found))
        own = tuple(one for one in addresses if _means_here(one))
        if own:
            answering = [one for one in own if await _answers(one, port)]
            return tuple(answering[:1]) or own
    return ()


async def _answers(address: str, port: int) -> bool:
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(address, port)
        writer.close()
        return True
    return False


def _means_here(address: str) -> bool:
    plain = plain_address(address)
    return plain is not None and is_own(plain)


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    return host, parts.port or (443 if parts.scheme == "https" else 80)


def _result(host: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST
    )
