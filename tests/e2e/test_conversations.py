"""Conversations on the real command: turns with their own assertions, and a judge who sees all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL

TALK = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund-talk, labels: {agent: support}}
spec:
  turns:
    - user: I want a refund
      assertions:
        - {type: toolNotCalled, tool: refund}
        - {type: contains, value: why}
    - user: It is broken
      assertions:
        - {type: toolCalled, tool: refund}
        - {type: judge, rubric: The agent says when the money comes., minScore: 0.5}
  assertions:
    - {type: toolSequence, tools: [clarify_reason, refund]}
"""
SCRIPT = """\
rules:
  - when: {user: I want a refund, turn: 1}
    toolCalls: [{name: clarify_reason}]
  - when: {user: I want a refund}
    reply: May I ask why?
  - when: {user: It is broken, turn: 3}
    toolCalls: [{name: refund}]
  - reply: It comes in three days.
"""
JUDGE = """\
rules:
  - when: {user: This is about turn 2 alone}
    reply: '{"score": 1, "confidence": 1, "summary": "It does.", "violations": [], "what_would_raise_score": ""}'
"""


def shop(tmp_path: Path) -> Repo:
    """A repository whose Eval holds one conversation; the branch `change` is out."""
    repo = Repo(tmp_path / "shop")
    repo.write("agents/support.yaml", AGENT)
    repo.write("agents/prompts/support.md", "Ask for the reason first.\n")
    repo.write("evals/talk.yaml", TALK)
    repo.write("evals/eval.yaml", EVAL + "  judge: {model: scripted/judge}\n")
    repo.write(".gateval/scripted/support.yaml", SCRIPT)
    repo.write(".gateval/scripted/judge.yaml", JUDGE)
    repo.commit("Begin")
    repo.branch("change")
    return repo


def test_each_turn_is_held_against_its_own_assertions(tmp_path: Path) -> None:
    repo = shop(tmp_path)
    ended = gateval(repo, "run", "support-eval", "--results", str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (trial,) = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert [one["status"] for one in trial["assessments"]] == ["passed"] * 5
    reasons = [one["reason"] for one in trial["assessments"]]
    assert [reason[:10] for reason in reasons[1:]] == ["In turn 1:"] * 2 + ["In turn 2:"] * 2
    steps = trial["trace"]["steps"]
    assert [step["number"] for step in steps] == list(range(1, 9))
    assert [step["kind"] for step in steps] == [
        "user", "tool_call", "tool_result", "assistant",
        "user", "tool_call", "tool_result", "assistant",
    ]  # fmt: skip
    assert trial["assessments"][3]["steps"] == [6]


def test_the_turn_that_got_worse_is_named(tmp_path: Path) -> None:
    repo = shop(tmp_path)
    repo.write(".gateval/scripted/support.yaml", SCRIPT.replace("May I ask why?", "One moment."))
    repo.commit("Be curt")
    ended = gateval(repo, "check", "--base", "main")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert 'In turn 1: expected "why" in the final message, saw "One moment."' in ended.stdout


def test_a_turn_that_asks_less_is_a_lower_bar(tmp_path: Path) -> None:
    repo = shop(tmp_path)
    repo.write("evals/talk.yaml", TALK.replace("        - {type: contains, value: why}\n", ""))
    repo.commit("Ask less")
    ended = gateval(repo, "check", "--base", "main")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "assertion contains why in turn 1 of fixture refund-talk dropped" in ended.stdout


PARROT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [python3, parrot.py, WORD], cwd: /}
"""


@pytest.mark.parametrize(
    ("word", "warned"), [("{{ prompt }}", True), ("{{ messages }}", False), ("--json", False)]
)
def test_a_program_that_is_told_the_newest_sentence_alone_is_named(
    tmp_path: Path, word: str, warned: bool
) -> None:
    repo = shop(tmp_path)
    repo.write("agents/support.yaml", PARROT.replace("WORD", f'"{word}"'))
    repo.write("parrot.py", "import sys\nprint(sys.argv[1])\n")
    repo.commit("Be a program")
    planned = gateval(repo, "plan", "--base", "main")
    said = " ".join((planned.stdout + planned.stderr).split())
    named = "refund-talk of support-eval has turns, and support is told `{{ prompt }}` alone"
    assert (named in said) is warned
    repo.write("evals/talk.yaml", TALK.partition("    - user: It is broken")[0])
    repo.commit("Ask once")
    planned = gateval(repo, "plan", "--base", "main")
    assert named not in " ".join((planned.stdout + planned.stderr).split())


def test_a_scripted_judge_is_not_called_an_agent_s_model(tmp_path: Path) -> None:
    repo = shop(tmp_path)
    repo.write("agents/support.yaml", PARROT.replace("WORD", "hello"))
    repo.write("parrot.py", "import sys\nprint(sys.argv[1])\n")
    repo.write(
        "evals/talk.yaml",
        "apiVersion: gateval/v1\nkind: EvalFixture\n"
        "metadata: {name: refund-talk, labels: {agent: support}}\n"
        "spec:\n  input: {type: prompt, payload: {prompt: Hello}}\n  assertions:\n"
        "    - {type: judge, rubric: It greets., minScore: 0.5}\n",
    )
    repo.write(
        ".gateval/scripted/judge.yaml",
        JUDGE.replace("  - when: {user: This is about turn 2 alone}\n    reply", "  - reply"),
    )
    repo.commit("Be a program")
    out = tmp_path / "out"
    gateval(repo, "run", "support-eval", "--results", str(out))
    for file in ("comment.md", "report.html"):
        said = (out / file).read_text("utf-8").replace("**", "")
        assert "A scripted model judged (scripted/judge): its scores say nothing" in said
        assert "answered (scripted" not in said
