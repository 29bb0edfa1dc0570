"""Waits until a server can be asked, or says why it cannot."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from gateval.candidates.process.running import Running
from gateval.domain.manifests.fixtures.services import Ready
from gateval.gateway.peers import Tables, owned_by
from gateval.ports.clock import Clock
from gateval.ports.local_http import LocalHttp, LocalHttpError, LocalRequest

FIRST_PAUSE_SECONDS = 0.02
LONGEST_PAUSE_SECONDS = 0.25
POLL_SECONDS = 5.0

LEAST_POLL_SECONDS = 0.1
"""A server that does not answer within less, as the time runs out, has said nothing by that."""

_HOSTS = {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6}
"""Where a server may listen; `localhost` is the second for some of them."""


class NotReady(Exception):
    """The server cannot be asked. The text is a clause to be put after `The server`.

    `ended` says that it is no longer there.
    """

    def __init__(self, message: str, *, ended: bool = False) -> None:
        super().__init__(message)
        self.ended = ended


async def wait_until_ready(
    running: Running, port: int, ready: Ready, http: LocalHttp, clock: Clock
) -> str:
    """Return the address at which the server answers. Raises `NotReady`."""
    until = clock.monotonic() + ready.timeout_seconds
    pause = FIRST_PAUSE_SECONDS
    told = ""
    while True:
        left = until - clock.monotonic()
        said = "did not begin to listen"
        for host in _HOSTS:
            try:
                await _poll(host, port, ready, http, running, max(min(left, POLL_SECONDS), 0.01))
            except _NotYet as answer:
                said = str(answer) or said
            else:
                _refuse_impostor(running, port)
                return host
        if not told or left >= LEAST_POLL_SECONDS:
            told = said
        await asyncio.wait({running.ended}, timeout=pause)
        if running.ended.done():
            raise NotReady("ended", ended=True)
        if clock.monotonic() >= until:
            raise NotReady(f"was not ready within {ready.timeout_seconds:g} s: it {told}")
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


def _refuse_impostor(running: Running, port: int) -> None:
    """Raise `NotReady` if somebody else listens there too.

    A candidate that sees another's port in its command line may take it first and answer in its
    place: head's could then speak for base's.
    """
    owner = running.owner
    if owner is not None and not all(map(owned_by(owner), Tables().listening(port))):
        raise NotReady(f"has no port: another program has taken port {port}")


class _NotYet(Exception):
    """The server is not ready yet: why, as a clause; the empty string for no reaction at all."""


async def _poll(
    host: str, port: int, ready: Ready, http: LocalHttp, running: Running, seconds: float
) -> None:
    if ready.path is None:
        await _connect(host, port, seconds)
        return
    asked = LocalRequest("GET", ready.path)
    try:
        reply = await http.ask(
            host, port, asked, seconds=seconds, limit=1024 * 1024, owner=running.owner
        )
    except LocalHttpError as error:
        raise _NotYet("" if error.refused else f"{error.message} to GET {ready.path}")
    if not 200 <= reply.status < 300:
        raise _NotYet(f"answered GET {ready.path} with status {reply.status}")


async def listens(host: str, port: int, seconds: float) -> bool:
    """Whether somebody accepts connections there within this time."""
    try:
        await _connect(host, port, seconds)
    except _NotYet:
        return False
    return True


async def _connect(host: str, port: int, seconds: float) -> None:
    family = _HOSTS[host]
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(host, port, family=family)
    except (OSError, TimeoutError):
        raise _NotYet("")
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on.

    Another program may take it before the server does; the caller tries another then.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_taken(port: int) -> bool:
    """Whether someone listens on this port, on any address that the server could have meant."""
    for host, family in (("127.0.0.1", socket.AF_INET), ("0.0.0.0", socket.AF_INET)):  # noqa: S104 - tried only
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                return True
    return False
