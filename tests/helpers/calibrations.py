"""A shop whose judge is a script that is right or wrong about labelled examples, as a test likes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop

FIXTURES = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: Hello}
    - {type: judge, rubric: Is it kind?}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: kind-word, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: judge, rubric: Is it kind?}
"""

EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
"""


def verdict(score: float, quote: str = "") -> str:
    """A judge's answer; a low score blames the second step, where `quote` stands."""
    blamed = {"rule": "kind", "severity": "high", "evidence_step": 2, "quote": quote}
    return json.dumps(
        {
            "score": score,
            "confidence": 0.9,
            "summary": "Kind." if score >= 0.5 else "Not kind.",
            "violations": [] if score >= 0.5 else [blamed],
            "what_would_raise_score": "",
        }
    )


def script(*, wrong: int, of: int, agent: str, silent: int = 0) -> str:
    """A judge that is wrong about the first `wrong` of `of` examples, and gives no verdict on the
    last `silent`. Of the agent's own answers it says `agent`.
    """
    rules = []
    for number in range(1, of + 1):
        human = 1.0 if number % 2 else 0.0
        said = 1 - human if number <= wrong else human
        reply = "I cannot say." if number > of - silent else verdict(said, answer(number))
        rules.append({"when": {"user": answer(number)}, "reply": reply})
    if silent:
        rules.append({"when": {"turn": 2}, "reply": "I cannot say."})
    return json.dumps({"rules": [*rules, {"reply": agent}]})


def answer(number: int) -> str:
    """The candidate's output in an example."""
    return f"Answer no. {number:03d}, and nothing else"


def calibration(of: int, name: str = "tone", **spec: object) -> str:
    """A JudgeCalibration with so many examples, every other of which people pass."""
    examples = [
        {
            "traceRef": f"conv-{number}",
            "input": {"ticket": f"Ticket {number}"},
            "candidateOutput": answer(number),
            "humanScore": 1.0 if number % 2 else 0.0,
            "humanLabel": "It is kind" if number % 2 else "It is rude",
        }
        for number in range(1, of + 1)
    ]
    body = {"rubric": "Is it kind?", "judgeModels": ["scripted/judge"], "examples": examples}
    return json.dumps(
        {
            "apiVersion": "gateval/v1",
            "kind": "JudgeCalibration",
            "metadata": {"name": name},
            "spec": {**body, **spec},
        }
    )


def judged_shop(
    path: Path,
    *,
    wrong: int,
    of: int = 20,
    agent: str = "",
    judge: str = "calibration: tone, minAgreement: 0.6",
    silent: int = 0,
) -> Repo:
    """The shop with judged fixtures, all committed on `main`; the branch `next` is out."""
    repo = build_shop(path)
    repo.checkout("main")
    told = agent or verdict(1.0)
    repo.write(
        ".gateval/scripted/judge.yaml", script(wrong=wrong, of=of, agent=told, silent=silent)
    )
    repo.write("evals/fixtures.yaml", FIXTURES)
    repo.write("evals/tone.yaml", calibration(of))
    repo.write("evals/support-eval.yaml", EVAL + f"  judge: {{model: scripted/judge, {judge}}}\n")
    repo.commit("Judges")
    repo.branch("next")
    return repo
