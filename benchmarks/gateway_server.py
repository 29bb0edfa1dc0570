"""The gateway in a process of its own, for the benchmarks: `python -m benchmarks.gateway_server`.

It takes the provider's address from the environment as `gateval` does, prints one line of JSON with
its address and the keys of `--instances` candidates whose trials are under way, and answers each
line on standard input with what it has used until then. It ends when the input is closed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
from pathlib import Path

from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.trial_calls import CallLimits
from gateval.gateway.upstream.endpoints import read_upstreams

UNHURRIED = CallLimits(calls=1_000_000, tokens=10**12, per_second=1e6, burst=1_000_000)
"""The limits on the pace of a candidate would be what is measured."""


def used() -> dict[str, float]:
    """Return the CPU seconds used, and the largest resident set in bytes."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return {
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": int(peak.split()[1]) * 1024,
    }


async def serve(instances: int) -> None:
    """Serve until standard input is closed."""
    async with (
        Gateway(read_upstreams(os.environ), {}) as gateway,
        GatewayServer(gateway, UNHURRIED) as server,
    ):
        sessions = [server.open(Side.HEAD, ("openai/agent-model",)) for _ in range(instances)]
        for session in sessions:
            session.begin()
        address = sessions[0].environment()["ANTHROPIC_BASE_URL"]
        keys = [session.key for session in sessions]
        print(json.dumps({"address": address, "keys": keys}), flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(used()), flush=True)


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway_server")
    parser.add_argument("--instances", type=int, default=10, help="candidates with a key each")
    asyncio.run(serve(parser.parse_args().instances))


if __name__ == "__main__":
    main()
