"""A small repository with an agent whose pass rates are known, and a change of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.repository import repository

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: known}
spec:
  runtime: {type: command, command: [python3, -S, -E, agent.py]}
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: known-eval}
spec:
  targetAgent: known
  fixtureSelector: {matchLabels: {agent: known}}
"""
EXECUTION = "  execution: {{repsPerFixture: {reps}}}\n"
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: {name}, labels: {{agent: known}}}}
spec:
  input: {{type: prompt, payload: {{prompt: {name}}}}}
  assertions: [{{type: equals, value: "yes"}}]
"""
PROGRAM = """\
import json, os, sys

rate = json.load(open("rates.json"))[json.load(sys.stdin)["prompt"]]
print("yes" if int.from_bytes(os.urandom(6), "big") < rate * 2**48 else "no")
"""
"""Every start draws anew, from the system's randomness."""

WORD = "# Only a word has changed.\n"


def fixture_name(number: int) -> str:
    """Return the name of a fixture, counted from 0."""
    return f"case-{number:02d}"


def files(rates: Sequence[float], reps: int = 1, program: str = PROGRAM) -> dict[str, str]:
    """Return the files of a revision whose agent passes fixture by fixture at these rates."""
    names = [fixture_name(number) for number in range(len(rates))]
    execution = EXECUTION.format(reps=reps) if reps != 1 else ""
    return {
        "agent/agent.yaml": AGENT + execution,
        "agent/agent.py": program,
        "agent/rates.json": json.dumps(dict(zip(names, rates, strict=True))) + "\n",
        "agent/fixtures.yaml": "---\n".join(FIXTURE.format(name=name) for name in names),
    }


def world(cache: Path, base: Sequence[float], head: Sequence[float], reps: int) -> Path:
    """Return a repository in which the change turns the rates `base` into `head`, and a word."""
    before, after = files(base, reps), files(head, reps)
    return repository(cache, before, after | {"agent/agent.py": PROGRAM + WORD})
