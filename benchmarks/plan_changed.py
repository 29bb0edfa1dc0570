"""`gateval plan` of a change that touches every one of many Agents.

Each has an Eval and a fixture, and a new key in its manifest, so that all of both revisions is
read, compared and planned.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.processes import (
    GATEVAL,
    IMPORT_PYDANTIC,
    BenchmarkError,
    Sample,
    interleaved,
    sample,
)
from benchmarks.repository import BASE, large_files, repository
from benchmarks.scale import Scale

NAME = "plan_changed"
SECONDS_BAR = 3.0


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures: CPU time, git's processes included."""
    agents = scale.changed_agents
    base = large_files(0, agents, agents)
    change = {
        path: text.replace("spec:\n", "spec:\n  description: Changed.\n", 1)
        for path, text in base.items()
        if path.endswith("/agent.yaml")
    }
    folder = repository(scale.cache, base, change)
    plan, imported = interleaved(
        scale.run_rounds,
        lambda: _plan(folder, agents),
        lambda: sample(IMPORT_PYDANTIC, folder),
    )
    ours, theirs = (median(one.cpu for one in taken) for taken in (plan, imported))
    return [
        Figure(NAME, f"{agents:,} Agents, CPU", ours, "s", SECONDS_BAR),
        Figure(NAME, "CPU / pydantic", ours / theirs, "×"),
        Figure(NAME, "memory", max(one.memory for one in plan) / 1e6, "MB"),
    ]


def _plan(folder: Path, agents: int) -> Sample:
    one = sample((*GATEVAL, "plan", "--base", BASE), folder)
    if f"\n{2 * agents:,} trials" not in one.output:
        raise BenchmarkError(f"the plan does not hold all Agents:\n{one.output[-2000:]}")
    return one
