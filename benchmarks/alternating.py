"""What it costs that processes of head and base never live at the same time.

`gateval check` of an Agent that is a server runs base's trials, ends its processes, then runs
head's. The same trials without that wall: `gateval run` of two Agents of one revision, each with
half of the places, which run side by side. Both ask the same model server equally often.

The wall asks for twice as many servers, whose starts are taken off as in `run_http`: the CPU time
beyond the other's, spread over the cores. The figure with them stands beside it, without a bar.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks import manifests
from benchmarks.figures import Figure, median
from benchmarks.processes import GATEVAL, BenchmarkError, Sample, interleaved, sample
from benchmarks.repository import (
    BASE,
    HEAD,
    Files,
    repository,
    served_agent_files,
)
from benchmarks.run_http import CALLS_PER_FIXTURE, model_calls, model_server
from benchmarks.scale import Scale

NAME = "alternating"
BAR = 1.10
SIDES = 2


def measure(scale: Scale) -> list[Figure]:
    """Measure every pair of fixtures and `parallel`, and return the figures."""
    with model_server(scale.latency) as address:
        return [
            figure
            for fixtures, parallel in scale.runs
            for figure in _measured(scale, fixtures, parallel, address)
        ]


def _measured(scale: Scale, fixtures: int, parallel: int, address: str) -> list[Figure]:
    own = served_agent_files(fixtures, parallel)
    changed = {"agent/serve.py": own["agent/serve.py"] + "\n# Tidied up.\n"}
    alternating = repository(scale.cache, own, changed)
    together = repository(scale.cache, _two_agents(fixtures, parallel // SIDES), {})
    evals = [f"{manifests.agent_name(number)}-eval" for number in range(SIDES)]
    calls = fixtures * SIDES * CALLS_PER_FIXTURE
    pairs = interleaved(
        scale.run_rounds,
        lambda: _run(alternating, address, calls, "check", "--base", BASE, "--head", HEAD),
        lambda: _run(together, address, calls, "run", *evals),
    )
    found = list(zip(*pairs, strict=True))
    cores = os.cpu_count() or 1
    whole = median(one.wall / other.wall for one, other in found)
    net = median(
        (one.wall - max(one.cpu - other.cpu, 0) / cores) / other.wall for one, other in found
    )
    what = f"{fixtures} at {parallel}: alternating / together"
    return [
        Figure(NAME, what, net, "×", BAR),
        Figure(NAME, f"{what}, servers' starts included", whole, "×"),
    ]


def _two_agents(fixtures: int, parallel: int) -> Files:
    """Two Agents that are servers, with that many fixtures each."""
    files: dict[str, str] = {}
    for number in range(SIDES):
        name = manifests.agent_name(number)
        for path, text in served_agent_files(fixtures, parallel).items():
            here = path.replace("agent/", f"{name}/", 1)
            files[here] = text.replace(manifests.agent_name(0), name)
    return files


def _run(folder: Path, address: str, calls: int, *arguments: str) -> Sample:
    before = model_calls(address)
    env = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "benchmark"}
    with tempfile.TemporaryDirectory(prefix="gateval-benchmark-") as results:
        one = sample((*GATEVAL, *arguments, "--results", f"{results}/run"), folder, env=env)
    made = model_calls(address) - before
    if made != calls:
        raise BenchmarkError(f"{made} model calls instead of {calls}:\n{one.output[-2000:]}")
    return one
