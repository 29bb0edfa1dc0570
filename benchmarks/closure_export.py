"""What a candidate starts from: a closure of 40 files out of a repository of 10,000.

Every Agent and side has an export of its own, so this is paid dozens of times in a run. The trees
are known by then, as they are when a plan runs; what is measured is one export, git included.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.repository import HEAD, large_files, repository
from benchmarks.scale import Scale
from gateval.adapters.git.repository import open_repository
from gateval.domain.manifests.agent import RuntimeSpec
from gateval.domain.plan.plan import AgentDefinition, Plan
from gateval.domain.problems import SourceLocation
from gateval.domain.tree import file_rules
from gateval.domain.trials.trial import Side
from gateval.pipeline.exports import ClosureExports

NAME = "closure_export"
FILES = 40
BAR_MS = 50.0
CHANGE = {"README.md": "# Products\n\nWhat they are.\n"}


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures."""
    files = large_files(scale.files, scale.agents, scale.fixtures)
    files |= {f"bots/desk/part_{number:02d}.py": f"x = {number}\n" for number in range(FILES)}
    folder = repository(scale.cache, files, CHANGE)
    taken = [_export(folder) for _ in range(scale.rounds)]
    return [Figure(NAME, f"{FILES} files of {len(files):,}", median(taken), "ms", BAR_MS)]


def _export(folder: Path) -> float:
    """One export, in milliseconds."""
    found = open_repository(folder)
    revision = found.resolve(HEAD)
    found.tree(revision)
    agent = AgentDefinition(
        name="desk",
        side=Side.HEAD,
        place=SourceLocation(file="agent.yaml"),
        runtime=RuntimeSpec(type="command", command=("python3", "part_00.py")),
        cwd="bots/desk",
        closure="0" * 64,
        files=file_rules({"bots/desk"}, {"bots/*/part_*.py"}, "bots/desk"),
    )
    plan = Plan(head=revision, agents=(agent,), nothing="Only files are exported here.")
    with tempfile.TemporaryDirectory() as scratch:
        exports = ClosureExports(found, plan, Path(scratch))
        begin = time.perf_counter()
        made = asyncio.run(exports.folder(agent, {}))
        taken = time.perf_counter() - begin
        assert len(list((made / "bots/desk").iterdir())) == FILES
    return taken * 1000
