"""`gateval validate` of a fixture with very many cases, beside one with a single case.

And `gateval plan` where a change edits all of them.
"""

from __future__ import annotations

import json

from benchmarks.figures import Figure, median
from benchmarks.manifests import agent_manifest, agent_name
from benchmarks.processes import GATEVAL, IMPORT_PYDANTIC, interleaved, sample
from benchmarks.repository import BASE, repository
from benchmarks.scale import Scale

NAME = "many_cases"
SECONDS_BAR = 1.0
EDITED_BAR = 2.0

EVAL = f"""\
apiVersion: gateval/v1
kind: Eval
metadata: {{name: cases-eval}}
spec: {{targetAgent: {agent_name(0)}, fixtures: [orders]}}
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: orders}
spec:
  cases: {file: cases.jsonl}
  input: {type: prompt, payload: {prompt: "Where is order {{ case.order }} of {{ case.name }}?"}}
  assertions:
    - {type: contains, value: "{{ case.expected }}"}
    - {type: toolNotCalled, tool: send_email}
"""


def files(cases: int) -> dict[str, str]:
    """One Agent, one Eval, one fixture, and so many cases."""
    lines = (
        json.dumps({"id": f"c-{n}", "order": n, "name": f"Customer {n}", "expected": f"day {n}"})
        for n in range(cases)
    )
    return {
        "agent.yaml": agent_manifest(0),
        "eval.yaml": EVAL,
        "orders.yaml": FIXTURE,
        "cases.jsonl": "".join(f"{line}\n" for line in lines),
    }


def edited(cases: int) -> str:
    """The cases after a change that expects another answer in each."""
    return files(cases)["cases.jsonl"].replace('"day ', '"on day ')


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures. An invalid case would end the benchmark."""
    one, many = (
        repository(scale.cache, files(count), {"cases.jsonl": edited(count)})
        for count in (1, scale.cases)
    )
    alone, all_cases, imported, edit, edits = interleaved(
        scale.rounds,
        lambda: sample((*GATEVAL, "validate"), one),
        lambda: sample((*GATEVAL, "validate"), many),
        lambda: sample(IMPORT_PYDANTIC, one),
        lambda: sample((*GATEVAL, "plan", "--base", BASE), one),
        lambda: sample((*GATEVAL, "plan", "--base", BASE), many),
    )
    least, ours = (median(each.wall for each in taken) for taken in (alone, all_cases))
    few, all_edited = (median(each.wall for each in taken) for taken in (edit, edits))
    theirs = median(each.wall for each in imported)
    return [
        Figure(NAME, "further cases", ours - least, "s", SECONDS_BAR),
        Figure(NAME, "validate / pydantic", ours / theirs, "×"),
        Figure(NAME, "further cases edited, plan", all_edited - few, "s", EDITED_BAR),
        Figure(NAME, "validate", ours, "s"),
        Figure(NAME, "memory", max(each.memory for each in all_cases) / 1e6, "MB"),
    ]
