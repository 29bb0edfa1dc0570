"""Files of AgentV from strangers: whatever they hold, they are read in bounded time and memory."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.helpers.agentv import agentv, problems

CASE = "{id: one, criteria: Good, input: Hello, assertions: [%s]}"


def suite(assertions: str) -> str:
    return f"tests: [{CASE % assertions}]\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.eval.yaml": suite(f"{{type: llm-grader, prompt: '{'/a' * 200_000} x'}}")}, "20000"),
        (
            {
                "a.eval.yaml": f"tests: ['file://{'*a' * 300}*.jsonl']\n",
                f"{'a' * 200}.jsonl": "{}\n",
            },
            "There is no file",
        ),
        (
            {
                "a.eval.yaml": suite("{include: ./b.yaml}"),
                "b.yaml": "- {include: ./b.yaml}\n- {include: ./b.yaml}\n",
            },
            "3 levels deep",
        ),
        (
            {
                "a.eval.yaml": suite(", ".join(["{include: ./b.yaml}"] * 1000)),
                "b.yaml": "- {include: ./c.yaml}\n" * 1000,
                "c.yaml": "[]\n",
            },
            "A case may have 500 evaluators",
        ),
        (
            {
                "a.eval.yaml": "tests: [{id: a, criteria: b, vars: {x: '"
                + "y" * 100_000
                + "'}, input: '"
                + "{{x}}" * 50_000
                + "'}]\n"
            },
            "All that is filled in has more than",
        ),
        (
            {
                "a.eval.yaml": "tests: file://a.jsonl\n",
                "a.jsonl": 600 * '{"id": "x", "criteria": "a", "input": [{"role": "user", '
                '"content": [{"type": "file", "value": "big.md"}]}]}\n',
                "big.md": "y" * 250_000,
            },
            "stands at a.jsonl:1:1 already",
        ),
        ({"a.eval.yaml": suite("{type: composite, aggregator: {type: threshold, threshold: 1}, evaluators: [" * 20 + "x" + "]}" * 20)}, "4 levels"),
        ({"a.eval.yaml": "tests: a.jsonl\n", "a.jsonl": "[" * 100_000 + "\n"}, "nested"),
        ({"a.eval.yaml": "tests: ../../etc\n"}, "leads out of the repository"),
    ],
)  # fmt: skip
def test_a_hostile_suite_is_refused_in_time(
    files: dict[str, str], said: str, tmp_path: Path
) -> None:
    repo = agentv(tmp_path / "repo", files)
    began = time.process_time()
    found = problems(repo)
    assert time.process_time() - began < 10
    assert any(said in one for one in found), found[:3]


def test_many_unknown_keys_cost_little(tmp_path: Path) -> None:
    keys = [chr(97 + i) * 3 + chr(97 + j) * 3 for i in range(26) for j in range(26)]
    lines = [
        json.dumps({"id": str(n), "expected_outcome": "g", "input": "x", **dict.fromkeys(keys)})
        for n in range(500)
    ]
    files = {"a.jsonl": "\n".join(lines), "a.yaml": "execution: {target: default}\n"}
    repo = agentv(tmp_path / "repo", files)
    began = time.process_time()
    assert problems(repo) == []
    assert time.process_time() - began < 10
