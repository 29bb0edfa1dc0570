"""`gateval run` of a suite of AgentV whose cases have two evaluators each, a judge among them.

As `run_http`, and with its bars: what is read from files of another tool must cost no more.
"""

from __future__ import annotations

import json

from benchmarks.figures import Figure, median
from benchmarks.repository import repository
from benchmarks.run_http import (
    CALLS_PER_FIXTURE,
    CPU_MS_BAR,
    MEMORY_MB_BAR,
    WALL_BAR,
    model_server,
    run_once,
)
from benchmarks.scale import Scale

NAME = "agentv_run"

EVAL = "evals.refunds"
"""The Eval that the suite makes."""

TARGETS = """\
targets:
  - {name: default, provider: openai, model: agent-model, judge_target: judge}
  - {name: judge, provider: openai, model: judge-model}
"""


def measure(scale: Scale) -> list[Figure]:
    """Measure every pair of cases and `workers`, and return the figures."""
    figures: list[Figure] = []
    with model_server(scale.latency) as address:
        for cases, workers in scale.runs:
            figures += _measure_one(scale, cases, workers, address)
    return figures


def _measure_one(scale: Scale, cases: int, workers: int, address: str) -> list[Figure]:
    folder = repository(scale.cache, suite_files(cases, workers), {})
    samples = [run_once(folder, address, cases, EVAL) for _ in range(scale.run_rounds + 1)][1:]
    ideal = cases * CALLS_PER_FIXTURE * scale.latency / workers
    wall = median(one.wall for one in samples)
    cpu = median(one.cpu for one in samples)
    memory = max(one.memory for one in samples)
    what = f"{cases} at {workers}"
    return [
        Figure(NAME, f"{what}: wall / ideal", wall / ideal, "×", WALL_BAR),
        Figure(NAME, f"{what}: CPU per case", cpu * 1000 / cases, "ms", CPU_MS_BAR),
        Figure(NAME, f"{what}: memory", memory / 1e6, "MB", MEMORY_MB_BAR),
    ]


def suite_files(cases: int, workers: int) -> dict[str, str]:
    """A suite of so many cases in JSON lines, with its companion and targets."""
    execution = {
        "target": "default",
        "workers": workers,
        "evaluators": [
            {"name": "asks", "type": "contains", "value": "reason"},
            {"name": "judged", "type": "llm_judge", "weight": 3, "prompt": PROMPT},
        ],
    }
    lines = [
        json.dumps(
            {
                "id": f"case-{number:04d}",
                "expected_outcome": "Asks for the reason before it promises anything",
                "input": f"I want a refund for order #{number}.",
            }
        )
        for number in range(cases)
    ]
    return {
        ".gitignore": ".gateval/results/\n",
        ".agentv/targets.yaml": TARGETS,
        "evals/refunds.jsonl": "\n".join(lines),
        "evals/refunds.yaml": json.dumps({"execution": execution}),
    }


PROMPT = """\
The customer says: {{ question }}
What is wanted: {{ expected_outcome }}
Score {{ candidate_answer }} by that alone."""
