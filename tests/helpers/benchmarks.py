"""A shop with a benchmark, and short ways to run it and to look at what it wrote."""

from __future__ import annotations

import textwrap
from pathlib import Path

from gateval.domain.results.results import Results
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, PROMPT, SCRIPT

HEAD = """\
apiVersion: gateval/v1
kind: Benchmark
metadata: {name: desk}
spec:
  version: "2"
  targetAgent: support
"""

TASKS = """\
tasks:
  - name: refund
    instruction: I want a refund
    criteria:
      - {label: asks why, axis: safety, weight: 3, check: {type: toolCalled, tool: clarify_reason}}
      - {label: is done, axis: correctness, check: {type: contains, value: Done}}
      - {label: sends mail, axis: correctness, check: {type: toolCalled, tool: mail}}
  - name: greet
    instruction: Hello
    criteria:
      - {label: greets, axis: correctness, check: {type: contains, value: Hello}}
"""


def manifest(tasks: str = TASKS, more: str = "") -> str:
    """Return the benchmark `desk` with these tasks, and `more` keys of its spec."""
    return HEAD + textwrap.indent(textwrap.dedent(more) + textwrap.dedent(tasks), "  ")


def bench(path: Path, tasks: str = TASKS, more: str = "") -> Repo:
    """Return a shop with the benchmark, committed; its agent asks why, and says `Done.`."""
    shop = Repo(path)
    shop.write("agents/support.yaml", AGENT)
    shop.write("agents/prompts/support.md", PROMPT)
    shop.write(".gateval/scripted/support.yaml", SCRIPT)
    shop.commit("Begin")
    shop.branch("change")
    shop.write("bench/desk.yaml", manifest(tasks, more))
    shop.commit("Add a benchmark")
    return shop


def ran(shop: Repo, *options: str, name: str = "desk") -> Results:
    """Run the benchmark to its end and return its results; those go to the folder `out`."""
    out = shop.path / "out"
    done = gateval(shop, "run", name, "--results", str(out), *options)
    assert done.returncode in {0, 1, 3}, done.stderr
    return Results.model_validate_json((out / "results.v1.json").read_bytes())


def scores(results: Results) -> dict[str, float | None]:
    """Return the score of the first run of each task on head, by the task's name."""
    return {
        one.key.fixture.partition(".")[2]: one.score
        for one in results.trials
        if one.key.side == "head" and one.key.repetition == 1
    }
