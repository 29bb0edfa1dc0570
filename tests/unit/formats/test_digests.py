"""The digest is a manifest's meaning: how it is written does not count, what it says does."""

from __future__ import annotations

import pytest

from tests.helpers.manifests import parse

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata:
  name: f
  labels: {a: b, c: d}
spec:
  targetAgent: bot
  input: {type: prompt, payload: {prompt: hi, count: 2}}
  assertions:
    - {type: contains, value: hi, weight: 2}
    - {type: cost, maxTokens: 5}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: e}
spec:
  targetAgent: bot
  fixtures: [f]
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec:
  models: [openai/gpt-5]
  tools: [{name: a}]
  runtime: {type: command, command: [run]}
  memory: {size: 3}
"""
CALIBRATION = """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: c}
spec:
  rubric: polite
  judgeModels: [openai/gpt-5]
  examples: [{candidateOutput: hello, humanScore: 1}]
"""


def digest(text: str, path: str = "a.yaml") -> str:
    parsed = parse(text, path)
    assert parsed.problems == ()
    return parsed.manifests[0].digest


SAME = [
    (FIXTURE, "apiVersion: gateval/v1", "# why\n\napiVersion: pai.io/v1"),
    (FIXTURE, "labels: {a: b, c: d}", "labels:\n    c: d\n    a: 'b'"),
    (FIXTURE, "labels:", "annotations: {x: y}\n  namespace: n\n  labels:"),
    (FIXTURE, "spec:", "spec:\n  severity: medium\n  kind: golden\n  toolReplay: []"),
    (FIXTURE, "weight: 2", "weight: 2.0"),
    (FIXTURE, "maxTokens: 5", "maxTokens: 0x5, weight: 1.0"),
    (EVAL, "spec:", "spec:\n  judge: {temperature: 0}\n  scoring: {passThreshold: null}"),
    (EVAL, "spec:", "spec:\n  execution: {parallel: 4, timeoutSeconds: 300.0}\n  sealed: false"),
    (AGENT, "{name: a}", "{name: a, enabled: true, description: ''}"),
    (AGENT, "spec:", "spec:\n  system: null"),
    (CALIBRATION, "humanScore: 1", "humanScore: 1.0"),
]


@pytest.mark.parametrize(("text", "old", "new"), SAME)
def test_the_same_meaning_has_the_same_digest(text: str, old: str, new: str) -> None:
    assert digest(text.replace(old, new, 1)) == digest(text)


def test_where_a_manifest_stands_does_not_count() -> None:
    assert digest("# a\n# b\n" + EVAL, "elsewhere/b.yaml") == digest(EVAL)


DIFFERENT = [
    (FIXTURE, "name: f", "name: g"),
    (FIXTURE, "c: d", "c: e"),
    (FIXTURE, "prompt: hi", "prompt: ho"),
    (FIXTURE, "count: 2", "count: '2'"),
    (FIXTURE, "weight: 2", "weight: 3"),
    (FIXTURE, "spec:", "spec:\n  severity: high"),
    (FIXTURE, "value: hi", "value: ho"),
    (FIXTURE, "value: hi", "value: hi, severity: medium"),
    (EVAL, "fixtures: [f]", "fixtures: [f, g]"),
    (EVAL, "spec:", "spec:\n  scoring: {passThreshold: 1}"),
    (EVAL, "spec:", "spec:\n  execution: {deterministic: true}"),
    (AGENT, "name: a", "name: b"),
    (AGENT, "size: 3", "size: 4"),
    (AGENT, "command: [run]", "command: [run, fast]"),
    (CALIBRATION, "humanScore: 1", "humanScore: 0"),
]


@pytest.mark.parametrize(("text", "old", "new"), DIFFERENT)
def test_another_meaning_has_another_digest(text: str, old: str, new: str) -> None:
    assert digest(text.replace(old, new, 1)) != digest(text)
