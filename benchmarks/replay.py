"""`gateval run --replay` of a recorded run beside the same run live, at zero latency.

Each fixture is a call of the agent's model and one of the judge's, as in `run_http`. The live run
is the quickest there can be: its provider answers at once, on the same machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.manifests import agent_name
from benchmarks.processes import GATEVAL, BenchmarkError, Sample, interleaved, sample
from benchmarks.repository import repository, single_agent_files
from benchmarks.run_http import CALLS_PER_FIXTURE, model_calls, model_server
from benchmarks.scale import Scale

NAME = "replay"
WALL_BAR = 0.5


def measure(scale: Scale) -> list[Figure]:
    """Record the largest run, then run and replay it by turns, and return the figure."""
    fixtures, parallel = scale.runs[-1]
    folder = repository(scale.cache, single_agent_files(fixtures, parallel), {})
    with model_server(0) as address, tempfile.TemporaryDirectory(prefix="gateval-replay-") as kept:
        env = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "benchmark"}
        recorded = f"{kept}/recorded"
        _run(folder, ("--record", "--results", recorded), env)
        before = model_calls(address)
        live, replayed = interleaved(
            scale.run_rounds,
            lambda: _run(folder, (), env),
            lambda: _run(folder, ("--replay", recorded, "--offline"), {}),
        )
        calls = model_calls(address) - before
    if calls != fixtures * CALLS_PER_FIXTURE * (scale.run_rounds + 1):
        raise BenchmarkError(f"{calls} calls were made: replays made some")
    wall = median(one.wall / other.wall for one, other in zip(replayed, live, strict=True))
    return [Figure(NAME, f"{fixtures} at {parallel}: wall / live", wall, "×", WALL_BAR)]


def _run(folder: Path, how: tuple[str, ...], env: dict[str, str]) -> Sample:
    with tempfile.TemporaryDirectory(prefix="gateval-benchmark-") as results:
        where = () if "--results" in how else ("--results", f"{results}/run")
        evaluation = f"{agent_name(0)}-eval"
        return sample((*GATEVAL, "run", evaluation, *how, *where), folder, env=env)
