"""`gateval plan` in a large repository when nothing relevant changed.

This is what the gate costs every pull request that has nothing to do with agents. It is compared
with the least such a program could do: let git list the changed files, and import pydantic.

Once with `--base` alone, so that git also looks through the working tree for changes, and once
with both revisions named, as in CI and as `git diff` gets them.
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
from benchmarks.repository import BASE, HEAD, large_files, repository
from benchmarks.scale import Scale

NAME = "plan_unchanged"
RATIO_BAR = 4.0
CHANGE = {"README.md": "# Products\n\nWhat they are, and who looks after them.\n"}


def large_repository(scale: Scale) -> Path:
    """The repository in question; only its README differs between base and head."""
    return repository(scale.cache, large_files(scale.files, scale.agents, scale.fixtures), CHANGE)


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures."""
    folder = large_repository(scale)
    plan, named, diff, imported = interleaved(
        scale.rounds,
        lambda: _plan(folder, "--base", BASE),
        lambda: _plan(folder, "--base", BASE, "--head", HEAD),
        lambda: sample(("git", "diff", "--name-only", BASE, HEAD), folder),
        lambda: sample(IMPORT_PYDANTIC, folder),
    )
    least = median(one.wall + other.wall for one, other in zip(diff, imported, strict=True))
    whole, both = (median(one.wall for one in taken) for taken in (plan, named))
    return [
        Figure(NAME, "plan / (git diff + pydantic)", whole / least, "×", RATIO_BAR),
        Figure(NAME, "both revisions named", both / least, "×", RATIO_BAR),
        Figure(NAME, "plan", whole * 1000, "ms"),
        Figure(NAME, "git diff + pydantic", least * 1000, "ms"),
        Figure(NAME, "memory", max(one.memory for one in plan) / 1e6, "MB"),
    ]


def _plan(folder: Path, *revisions: str) -> Sample:
    one = sample((*GATEVAL, "plan", *revisions), folder)
    if "Nothing to evaluate" not in one.output:
        raise BenchmarkError(f"the plan found something to evaluate:\n{one.output[:2000]}")
    return one
