"""`gateval run` against a model server in another process, start of the program included.

Each fixture is one call of the agent's model and one of the judge's. The ideal is the sum of all
latencies divided by `parallel`: a program that costs nothing itself.
"""

from __future__ import annotations

import os
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.manifests import agent_name
from benchmarks.processes import GATEVAL, BenchmarkError, Sample, interleaved, sample, start
from benchmarks.repository import repository, served_agent_files, single_agent_files
from benchmarks.scale import Scale

NAME = "run_http"
WALL_BAR = 1.25
SERVED_WALL_BAR = 1.35
CPU_MS_BAR = 5.0
MEMORY_MB_BAR = 150.0
CALLS_PER_FIXTURE = 2


def measure(scale: Scale) -> list[Figure]:
    """Measure every pair of fixtures and `parallel`, and return the figures."""
    figures: list[Figure] = []
    with model_server(scale.latency) as address:
        for fixtures, parallel in scale.runs:
            figures += _measure_one(scale, fixtures, parallel, address)
            figures.append(_measure_served(scale, fixtures, parallel, address))
    return figures


def _measure_served(scale: Scale, fixtures: int, parallel: int, address: str) -> Figure:
    """The same with a candidate that is a server, `parallel` processes of it on the same machine.

    What they use of it, their start included, is taken off: the CPU time beyond that of the same
    run without them, spread over the cores.
    """
    served = repository(scale.cache, served_agent_files(fixtures, parallel), {})
    plain = repository(scale.cache, single_agent_files(fixtures, parallel), {})
    pairs = interleaved(
        scale.run_rounds,
        lambda: _run(served, address, fixtures),
        lambda: _run(plain, address, fixtures),
    )
    ideal = fixtures * CALLS_PER_FIXTURE * scale.latency / parallel
    cores = os.cpu_count() or 1
    wall = median(
        one.wall - max(one.cpu - other.cpu, 0) / cores for one, other in zip(*pairs, strict=True)
    )
    what = f"{fixtures} at {parallel}, http candidate: wall / ideal"
    return Figure(NAME, what, wall / ideal, "×", SERVED_WALL_BAR)


def _measure_one(scale: Scale, fixtures: int, parallel: int, address: str) -> list[Figure]:
    folder = repository(scale.cache, single_agent_files(fixtures, parallel), {})
    samples = [_run(folder, address, fixtures) for _ in range(scale.run_rounds + 1)][1:]
    ideal = fixtures * CALLS_PER_FIXTURE * scale.latency / parallel
    wall = median(one.wall for one in samples)
    cpu = median(one.cpu for one in samples)
    memory = max(one.memory for one in samples)
    what = f"{fixtures} at {parallel}"
    return [
        Figure(NAME, f"{what}: wall / ideal", wall / ideal, "×", WALL_BAR),
        Figure(NAME, f"{what}: CPU per fixture", cpu * 1000 / fixtures, "ms", CPU_MS_BAR),
        Figure(NAME, f"{what}: memory", memory / 1e6, "MB", MEMORY_MB_BAR),
    ]


def _run(folder: Path, address: str, fixtures: int) -> Sample:
    return run_once(folder, address, fixtures, f"{agent_name(0)}-eval")


def run_once(folder: Path, address: str, fixtures: int, evaluation: str) -> Sample:
    """Run an Eval once, each of whose fixtures is two model calls."""
    before = model_calls(address)
    env = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "benchmark"}
    with tempfile.TemporaryDirectory(prefix="gateval-benchmark-") as results:
        command = (*GATEVAL, "run", evaluation, "--results", f"{results}/run")
        one = sample(command, folder, env=env)
    calls = model_calls(address) - before
    if calls != fixtures * CALLS_PER_FIXTURE:
        raise BenchmarkError(f"{fixtures} fixtures made {calls} model calls:\n{one.output[-2000:]}")
    return one


@contextmanager
def model_server(latency: float) -> Iterator[str]:
    """Start the model server in a process of its own; gives its address, ends it afterwards."""
    process = start("benchmarks.model_server", "--latency", str(latency))
    with process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def model_calls(address: str) -> int:
    """Ask a model server how many calls it has answered."""
    with urllib.request.urlopen(f"{address}/calls", timeout=10) as answer:  # noqa: S310 - loopback
        return int(answer.read())
