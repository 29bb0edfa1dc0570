"""200 tasks of a Benchmark, each in a playground of 50 files, beside the same without playgrounds.

What a playground costs is all that the second run takes longer: it is copied, lent to the user of
the candidate, taken back, looked at and removed. Tasks run one at a time, as they do by default.
"""

from __future__ import annotations

import json

from benchmarks.figures import Figure, median
from benchmarks.processes import GATEVAL, interleaved, sample
from benchmarks.repository import repository
from benchmarks.scale import Scale

NAME = "playgrounds"
FILES = 50
BAR_MS = 100.0

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  runtime: {type: command, command: [python3, -I, -S, desk.py]}
  watch: [desk.py]
"""
DESK = """\
import os
ground = os.environ.get("GATEVAL_PLAYGROUND")
if ground:
    with open(ground + "/file-00.txt", "a") as file:
        file.write("done")
print("done")
"""


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures. A run that does not pass would end the benchmark."""
    change = {"README.md": "# Desk\n"}
    with_one, without = (
        repository(scale.cache, files(scale.tasks, playing=playing), change)
        for playing in (True, False)
    )
    command = (*GATEVAL, "run", "desk-tasks", "--rev", "change")
    ours, theirs = interleaved(
        scale.run_rounds,
        lambda: sample(command, with_one),
        lambda: sample(command, without),
    )
    per_task = 1000 / scale.tasks
    walls = [median(one.wall for one in taken) * per_task for taken in (ours, theirs)]
    cpus = [median(one.cpu for one in taken) * per_task for taken in (ours, theirs)]
    what = f"{scale.tasks} tasks, {FILES} files each"
    return [
        Figure(NAME, f"{what}: a playground", walls[0] - walls[1], "ms", BAR_MS),
        Figure(NAME, f"{what}: its CPU time", cpus[0] - cpus[1], "ms"),
        Figure(NAME, f"{what}: a task without one", walls[1], "ms"),
    ]


def files(tasks: int, *, playing: bool) -> dict[str, str]:
    """A program, a benchmark for it, and the folder that playgrounds start with."""
    check: dict[str, object] = {"type": "contains", "value": "done"}
    spec: dict[str, object] = {"targetAgent": "desk"}
    if playing:
        check = {"type": "fileMatches", "path": "file-00.txt", "pattern": "done"}
        spec["playground"] = {"folder": "world"}
    spec["tasks"] = [
        {
            "name": f"task-{number:03d}",
            "instruction": f"Do {number}.",
            "criteria": [{"label": "It is done", "check": check}],
        }
        for number in range(tasks)
    ]
    document = {"apiVersion": "gateval/v1", "kind": "Benchmark"}
    text = json.dumps({**document, "metadata": {"name": "desk-tasks"}, "spec": spec})
    world = {f"world/file-{number:02d}.txt": f"{number}\n" * 100 for number in range(FILES)}
    return {
        ".gitignore": ".gateval/results/\n",
        "agent.yaml": AGENT,
        "desk.py": DESK,
        "benchmark.yaml": text,
        **world,
    }
