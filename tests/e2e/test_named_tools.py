"""Assertions on tools that no agent has: what is never called is forbidden for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec:
  models: [openai/x]
  system: Be kind.
  tools: [{name: get_order}, {name: refund_order}, {name: bash, enabled: false}]
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks, labels: {agent: desk}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions:
    - {type: contains, value: x}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: desk-eval}
spec:
  targetAgent: desk
  fixtureSelector: {matchLabels: {agent: desk}}
"""
IDLE = "so it is never called, and this part of `%s` checks nothing."
NEVER = "so it is never called."
NAMED = {
    "{type: toolNotCalled, tool: refund_ordr}": ("refund_ordr", IDLE % "toolNotCalled"),
    "{type: toolNotCalled, tool: get_order, after: [refund_ordr]}": (
        "refund_ordr", IDLE % "toolNotCalled",
    ),
    "{type: toolNotCalled, tool: get_order, before: [refund_ordr]}": ("refund_ordr", NEVER),
    "{type: toolCalled, tool: refund_ordr}": ("refund_ordr", NEVER),
    "{type: toolCalled, tool: get_order, before: [refund_ordr]}": (
        "refund_ordr", IDLE % "toolCalled",
    ),
    "{type: toolSequence, tools: [get_order, refund_ordr]}": ("refund_ordr", NEVER),
    "{type: toolArguments, tool: refund_ordr, arguments: {a: 1}}": ("refund_ordr", NEVER),
    "{type: not, assertions: [{type: toolCalled, tool: refund_ordr}]}": (
        "refund_ordr", IDLE % "toolCalled",
    ),
    "{type: toolNotCalled, tool: bash}": ("", ""),
    "{type: toolNotCalled, tool: get_order, before: [refund_order]}": ("", ""),
}  # fmt: skip
PROGRAMS = {
    "command": "runtime: {type: command, command: [python3, agent.py]}",
    "http": "runtime: {type: http, command: [python3, agent.py], request: {path: /}}",
    "a server of tools": "tools: [{type: mcp, name: shop, command: [python3, agent.py]}]",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("agent.yaml", AGENT)
    repo.write("agent.py", "print(1)\n")
    repo.write("eval.yaml", EVAL)
    return repo


@pytest.mark.parametrize("assertion", NAMED)
def test_a_tool_that_the_agent_does_not_have_is_told_with_its_line(
    repo: Repo, assertion: str
) -> None:
    name, effect = NAMED[assertion]
    repo.write("fixture.yaml", f"{FIXTURE}    - {assertion}\n")
    done = gateval(repo, "validate")
    assert done.returncode == 0, done.stdout + done.stderr
    said = f'The Agent "desk" has no tool "{name}", {effect} Did you mean "refund_order"?'
    assert (said in done.stdout) is bool(name)
    assert ("warning: fixture.yaml:8:" in done.stdout) is bool(name)
    assert ("`enabled: false`" in done.stdout) is ("checks nothing" in effect)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_nothing_is_said_of_what_programs_call(repo: Repo, kind: str) -> None:
    lines = [line for line in AGENT.splitlines() if "tools:" not in line]
    repo.write("agent.yaml", "\n".join([*lines, f"  {PROGRAMS[kind]}", ""]))
    repo.write("fixture.yaml", f"{FIXTURE}    - {{type: toolNotCalled, tool: refund_ordr}}\n")
    assert "refund_ordr" not in gateval(repo, "validate").stdout


def test_a_fixture_of_several_agents_is_told_only_if_none_has_the_tool(repo: Repo) -> None:
    repo.write("other.yaml", AGENT.replace("desk", "shop").replace("refund_order", "pay_order"))
    repo.write(
        "more.yaml", EVAL.replace("name: desk-", "name: shop-").replace(": desk\n", ": shop\n")
    )
    forbids = "{type: toolNotCalled, tool: %s}"
    repo.write("fixture.yaml", f"{FIXTURE}    - {forbids % 'pay_order'}\n    - {forbids % 'sh'}\n")
    said = gateval(repo, "validate").stdout
    assert 'No Agent that is asked this has a tool "sh"' in said
    assert "pay_order" not in said


def test_a_change_that_takes_or_renames_a_forbidden_tool_is_told(repo: Repo) -> None:
    forbids = "{type: toolNotCalled, tool: %s}"
    repo.write(
        "fixture.yaml",
        f"{FIXTURE}    - {forbids % 'refund_order'}\n    - {forbids % 'long_gone'}\n",
    )
    repo.commit("Add the desk")
    repo.branch("next")
    repo.write("agent.yaml", AGENT.replace("{name: refund_order}", "{name: refund_orders}"))
    repo.write("new.yaml", FIXTURE.replace("asks", "new") + f"    - {forbids % 'get_ordr'}\n")
    repo.commit("Rename it")
    said = " ".join(gateval(repo, "plan", "--base", "main").stdout.split())
    assert (
        'warning: `toolNotCalled` of asks (desk-eval) names "refund_order", and checks nothing '
        'there: Agent desk has no such tool any more. Did you mean "refund_orders"?'
    ) in said
    assert (
        'warning: `toolNotCalled` of new (desk-eval) names "get_ordr", and checks nothing there: '
        'Agent desk has no such tool. Did you mean "get_order"?'
    ) in said
    assert "long_gone" not in said, "the target branch has that, and validate tells"
