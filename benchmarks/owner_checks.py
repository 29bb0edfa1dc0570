"""CPU time of the look at who answers a fresh connection to this machine, with many sockets open.

A server of another process holds the other ends, as one without keep-alive does. What the gate does
beside the look is not counted.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.figures import Figure, median
from benchmarks.scale import Scale

NAME = "owner_checks"
BAR_MS = 0.5
ROUNDS = 100

_NOBODYS = (1_900_000_000, 1_900_000_100)


def measure(scale: Scale) -> list[Figure]:
    """Measure both ways to tell, without other sockets and with many."""
    figures = []
    for many in (0, 1_000, 10_000 if scale.run_rounds > 1 else 1_000):
        for who, users in (("users of their own", _NOBODYS), ("same user", None)):
            value = asyncio.run(_cost(many // 2, users))
            figures.append(Figure(NAME, f"{who}, {many} sockets", value, "ms", BAR_MS))
    return figures


async def _cost(pairs: int, users: tuple[int, int] | None) -> float:
    from gateval.gateway.peers import Peers, no_candidate

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    taken = []
    with ExitStack() as stack:
        address = stack.enter_context(_server())
        for _ in range(pairs):
            stack.enter_context(socket.create_connection(address))
        allowed, looks = no_candidate(users, lambda: False), Peers()
        for _ in range(ROUNDS):
            with socket.create_connection(address) as ours:
                await asyncio.sleep(0.003)
                begin = time.process_time()
                await looks.check(ours, allowed)
                taken.append(time.process_time() - begin)
    return 1000 * median(taken)


@contextmanager
def _server() -> Iterator[tuple[str, int]]:
    """Keep all connections in a process that is none of ours: whoever started it has ended."""
    reads, writes = os.pipe()
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        address = listener.getsockname()
        starter = os.fork()
        if starter == 0:
            if os.fork() == 0:
                os.write(writes, f"{os.getpid()}".encode())
                kept = []
                while True:
                    kept.append(listener.accept())
            os._exit(0)
    os.waitpid(starter, 0)
    number = int(os.read(reads, 20))
    try:
        yield address
    finally:
        os.kill(number, signal.SIGKILL)
        os.close(reads)
        os.close(writes)
