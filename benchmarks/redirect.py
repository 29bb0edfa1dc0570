"""What `runtime.redirect` costs: a call that the hook leads to the gateway, beside the same call by
a client that has the gateway's address, and the start of a program that makes none.

Gateway and scripted model are real, in this process; a client is one of its own. CPU time of both
counts: what else the machine does is left out.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Figure, median
from benchmarks.processes import BenchmarkError
from benchmarks.scale import Scale
from gateval.bridges import FOLDER, HOOK
from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trial import Side
from gateval.gateway.door import Gateway
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallLimits

NAME = "redirect"
CALL_MS_BAR = 2
START_MS_BAR = 50
CALLS = 300

_BODY = {"model": "scripted/m", "messages": [{"role": "user", "content": "hi"}]}
_PYTHON = f"""\
import sys, time
many, address = int(sys.argv[1]), sys.argv[2]
if many:
    import requests
    session = requests.Session()
    session.headers["Authorization"] = "Bearer " + sys.argv[3]
    for _ in range(many):
        session.post(address, json={_BODY}).raise_for_status()
print(time.process_time())
"""
_NODE = f"""\
const [many, address, key] = process.argv.slice(1);
const headers = {{ authorization: `Bearer ${{key}}`, "content-type": "application/json" }};
const sent = {{ method: "POST", headers, body: JSON.stringify({json.dumps(_BODY)}) }};
for (let call = 0; call < Number(many); call += 1) {{
  const got = await fetch(address, sent);
  if (!got.ok) throw new Error(await got.text());
  await got.arrayBuffer();
}}
const {{ user, system }} = process.cpuUsage();
console.log((user + system) / 1e6);
process.exit(0);
"""
_SCRIPT = ScriptedModel(
    name="m",
    path="m.yaml",
    digest="0",
    spec=ScriptedSpec.model_validate({"rules": [{"reply": "Hello."}]}),
)


class Client(NamedTuple):
    """A program that asks so many times at an address with a key."""

    what: str
    command: tuple[str, ...]


def measure(scale: Scale) -> list[Figure]:
    """Measure a client of each language that is here."""
    return asyncio.run(_measured(scale.rounds, CALLS if scale.rounds > 1 else 10))


async def _measured(rounds: int, calls: int) -> list[Figure]:
    limits = CallLimits(calls=1_000_000, per_second=100_000, burst=100_000)
    clients = [Client("Python", (sys.executable, "-c", _PYTHON))]
    if shutil.which("node"):
        clients.append(Client("Node", ("node", "--input-type=module", "-e", _NODE)))
    figures = []
    with tempfile.TemporaryDirectory() as home:
        async with (
            Gateway({}, {Side.HEAD: {"m": _SCRIPT}}) as gateway,
            GatewayServer(gateway, limits) as server,
        ):
            for client in clients:
                session = server.open(Side.HEAD, ())
                session.begin()
                direct, led = _ways(session, Path(home))
                costs, starts = [], []
                for _ in range(rounds):
                    took, bare = [await _seconds(client, calls, way) for way in (led, direct)]
                    began, plain = [await _seconds(client, 0, way) for way in (led, direct)]
                    starts.append(1000 * (began - plain))
                    costs.append((1000 * (took - bare) - starts[-1]) / calls)
                session.close()
                figures += [
                    Figure(NAME, f"{client.what}: a call", median(costs), "ms", CALL_MS_BAR),
                    Figure(NAME, f"{client.what}: start", median(starts), "ms", START_MS_BAR),
                ]
    return figures


class Way(NamedTuple):
    """An address, a key and the variables of a client that asks there."""

    address: str
    key: str
    environ: Mapping[str, str]


def _ways(session: Session, home: Path) -> tuple[Way, Way]:
    """Return how a client asks by the gateway's address, and by the provider's own."""
    plain = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath)}
    hook = FOLDER / HOOK
    led = {
        "PYTHONPATH": str(hook),
        "NODE_OPTIONS": f"--import={(hook / 'redirect.mjs').as_uri()}",
        **session.redirection(),
    }
    here = f"{session.environment()['OPENAI_BASE_URL']}/chat/completions"
    there = "https://api.openai.com/v1/chat/completions"
    return Way(here, session.key, plain), Way(there, "sk-own-key", plain | led)


async def _seconds(client: Client, calls: int, way: Way) -> float:
    """Return the CPU seconds of the client, from its start on, and of the gateway meanwhile."""
    began = time.process_time()
    own = float(await _said(client, calls, way))
    return own + time.process_time() - began if calls else own


async def _said(client: Client, calls: int, way: Way) -> str:
    words = (*client.command, str(calls), way.address, way.key)
    process = await asyncio.create_subprocess_exec(
        *words,
        env=dict(way.environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, errors = await process.communicate()
    if process.returncode:
        raise BenchmarkError(f"{client.what} failed: {errors.decode(errors='replace')[-500:]}")
    return said.decode()
