"""The gateway as candidates use it: CPU for each call, memory for many streams at once.

Model server, gateway and clients are three processes, so the gateway's figures are its own. A call
is one HTTP request of a candidate, one to the provider, and its steps in the trace.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import aiohttp

from benchmarks.figures import Figure
from benchmarks.model_server import AGENT_MODEL, ANSWER
from benchmarks.processes import BenchmarkError, start
from benchmarks.run_http import model_server
from benchmarks.scale import Scale

NAME = "gateway"
CPU_MS_BAR = 1.2
MEMORY_MB_BAR = 100.0
INSTANCES = 100
AT_ONCE = 20


class Used(NamedTuple):
    """What the gateway has used: CPU in seconds, its largest resident set in bytes."""

    cpu: float
    memory: int


class Gateway:
    """The gateway's process: where it is, the keys of its candidates, and what it has used."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        ready = self._line()
        self.address: str = ready["address"]
        self.keys: list[str] = ready["keys"]

    def used(self) -> Used:
        """Ask it what it has used until now."""
        if self._process.stdin is None:
            raise BenchmarkError("the gateway takes no questions")
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        said = self._line()
        return Used(said["cpu"], int(said["memory"]))

    def _line(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise BenchmarkError("the gateway has ended")
        parsed: dict[str, Any] = json.loads(line)
        return parsed


def measure(scale: Scale) -> list[Figure]:
    """Measure whole calls, then streams, and return the figures."""
    with model_server(0) as provider:
        with gateway(provider) as door:
            asyncio.run(_calls(door, scale.gateway_calls // 10))
            before = door.used()
            asyncio.run(_calls(door, scale.gateway_calls))
            after = door.used()
        cpu = (after.cpu - before.cpu) * 1000 / scale.gateway_calls
        with gateway(provider) as door:
            asyncio.run(_streams(door, scale.gateway_streams, scale.stream_chunks))
            memory = door.used().memory
    streams = f"{scale.gateway_streams} streams of {scale.stream_chunks} chunks"
    return [
        Figure(NAME, "CPU per call", cpu, "ms", CPU_MS_BAR),
        Figure(NAME, f"{streams}: memory", memory / 1e6, "MB", MEMORY_MB_BAR),
    ]


@contextmanager
def gateway(provider: str) -> Iterator[Gateway]:
    """Start the gateway in front of a provider; ends it afterwards."""
    env = {"OPENAI_BASE_URL": f"{provider}/v1", "OPENAI_API_KEY": "benchmark-key-1"}
    process = start("benchmarks.gateway_server", "--instances", str(INSTANCES), env=env)
    with process:
        try:
            yield Gateway(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()


async def _calls(door: Gateway, count: int) -> None:
    rest = iter(range(count))

    async def one_after_another(client: aiohttp.ClientSession, key: str) -> None:
        for number in rest:
            body = _body(f"Question {number}?")
            async with client.post(_url(door), data=body, headers=_headers(key)) as response:
                said = await response.read()
                if response.status != 200 or ANSWER.encode() not in said:
                    raise BenchmarkError(f"the gateway answered {response.status}: {said[:200]!r}")

    async with aiohttp.ClientSession() as client:
        await asyncio.gather(*(one_after_another(client, key) for key in door.keys[:AT_ONCE]))


async def _streams(door: Gateway, count: int, chunks: int) -> None:
    async def one(client: aiohttp.ClientSession, key: str) -> None:
        body = _body(f"Say {chunks} words.", stream=True)
        async with client.post(_url(door), data=body, headers=_headers(key)) as response:
            seen = 0
            async for line in response.content:
                seen += line.startswith(b'data: {"id"')
            if seen < chunks:
                raise BenchmarkError(f"a stream had {seen} chunks, not {chunks}")

    connector = aiohttp.TCPConnector(limit=count)
    async with aiohttp.ClientSession(connector=connector) as client:
        await asyncio.gather(*(one(client, door.keys[index]) for index in range(count)))


def _url(door: Gateway) -> str:
    return f"{door.address}/v1/chat/completions"


def _headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def _body(question: str, *, stream: bool = False) -> bytes:
    messages = [
        {"role": "system", "content": "You are a helpful agent of a shop. " * 20},
        {"role": "user", "content": question},
    ]
    return json.dumps({"model": AGENT_MODEL, "stream": stream, "messages": messages}).encode()
