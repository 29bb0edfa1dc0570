"""Memory of large runs: `gateval check` of very many trials, and what looks at one afterwards.

Each trial is a call of the agent's model and one of the judge's. What grows with trials shows in
few fixtures with many repetitions, what grows with fixtures in many that run once a side.
"""

from __future__ import annotations

import tempfile

from benchmarks.figures import Figure
from benchmarks.manifests import agent_manifest, agent_name, case_files, eval_manifest
from benchmarks.processes import GATEVAL, BenchmarkError, sample
from benchmarks.repository import BASE, HEAD, repository, single_agent_files
from benchmarks.run_http import CALLS_PER_FIXTURE, model_calls, model_server
from benchmarks.scale import Scale

NAME = "memory"
MEMORY_MIB_BAR = 250.0
SHOW_MIB_BAR = 120.0
MIB = 1024 * 1024
SIDES = 2
PARALLEL = 100


def measure(scale: Scale) -> list[Figure]:
    """Measure every shape of a run and return the figures."""
    figures: list[Figure] = []
    with model_server(min(scale.latency, 0.02)) as address:
        for kind, fixtures, repetitions in scale.large_runs:
            figures += _measured(scale, address, kind, fixtures, repetitions)
    return figures


def _measured(
    scale: Scale, address: str, kind: str, fixtures: int, repetitions: int
) -> list[Figure]:
    many = eval_manifest(0, parallel=PARALLEL, repetitions=repetitions)
    if kind == "cases":
        files = {f"agent/{name}": text for name, text in case_files(0, fixtures).items()}
        fixture = f"{agent_name(0)}-cases-0-c-0"
    else:
        files = single_agent_files(fixtures, PARALLEL)
        fixture = f"{agent_name(0)}-case-0000"
    files |= {"agent/agent.yaml": agent_manifest(0), "agent/eval.yaml": many}
    files[".gitignore"] = ".gateval/results/\n"
    edited = agent_manifest(0).replace("refund anything", "pay anything back")
    folder = repository(scale.cache, files, {"agent/agent.yaml": edited})
    trials = fixtures * repetitions * SIDES
    what = f"{trials} trials of {fixtures} {kind}"
    with tempfile.TemporaryDirectory(prefix="gateval-benchmark-") as results:
        run = f"{results}/run"
        before = model_calls(address)
        env = {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": "benchmark"}
        checked = (*GATEVAL, "check", "--base", BASE, "--head", HEAD, "--results", run)
        made = sample(checked, folder, env=env)
        calls = model_calls(address) - before
        if calls != trials * CALLS_PER_FIXTURE:
            raise BenchmarkError(f"{what} made {calls} model calls:\n{made.output[-2000:]}")
        shown = sample((*GATEVAL, "show", run, fixture), folder)
    return [
        Figure(NAME, what, made.memory / MIB, "MiB", MEMORY_MIB_BAR),
        Figure(NAME, f"{what}: CPU a trial", made.cpu * 1000 / trials, "ms"),
        Figure(NAME, f"{what}: show of one fixture", shown.memory / MIB, "MiB", SHOW_MIB_BAR),
        Figure(NAME, f"{what}: show, CPU", shown.cpu, "s"),
    ]
