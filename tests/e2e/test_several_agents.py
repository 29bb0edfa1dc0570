"""Programs of several agents: each step bears the name of its agent, as the wire tells it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = f"""\
apiVersion: gateval/v1
kind: Agent
metadata: {{name: support}}
spec:
  models: [scripted/support]
  runtime: {{type: command, command: [{sys.executable}, -I, agent.py]}}
"""
FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund, labels: {agent: support}}
spec:
  input: {type: prompt, payload: {prompt: I want a refund}}
  assertions:
    - {type: contains, value: "never said"}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec: {targetAgent: support, fixtureSelector: {matchLabels: {agent: support}}}
"""
ASKING = """\
import json, os, sys, urllib.request
user = {"role": "user", "content": json.load(sys.stdin)["prompt"]}

def ask(system, messages, tool):
    body = {"model": "scripted/support",
            "messages": [{"role": "system", "content": system}, *messages],
            "tools": [{"type": "function", "function": {"name": tool}}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
         "Content-Type": "application/json"})
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(said)
    for call in said.get("tool_calls") or ():
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "ok"})
    return said["content"]

"""
HAND_OVER = """\
history = [user]
ask("Route people.", history, "transfer_to_refunds")
ask("You refund.", history, "pay_back")
answer = ask("You refund.", history, "pay_back")
ask("Keep the log.", [{"role": "user", "content": "Note it"}], "none")
print(json.dumps({"output": answer}))
"""
BACK = """\
history = [user]
ask("Route people.", history, "transfer_to_refunds")
ask("You refund.", history, "pay_back")
call = {"id": "b", "type": "function",
        "function": {"name": "transfer_back_to_triage", "arguments": "{}"}}
history += [{"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "b", "content": "back"}]
print(json.dumps({"output": ask("Route people.", history, "none")}))
"""
AS_TOOL = """\
history = [user]
ask("You help.", history, "ask_researcher")
inner = [{"role": "user", "content": "What is the rule for late refunds?"}]
ask("You research.", inner, "look_up")
ask("You research.", inner, "look_up")
print(json.dumps({"output": ask("You help.", history, "ask_researcher")}))
"""
NAMED = """\
print(json.dumps({"output": ask(SYSTEM, [user], "none")}))
"""
BANK = """\
history = [user]
ask("A bank.", history, "transfer_to_savings")
print(json.dumps({"output": ask("A bank.", history, "transfer_to_savings")}))
"""
SCRIPT = """\
rules:
  - when: {system: Route people, turn: 1}
    toolCalls: [{name: transfer_to_refunds}]
  - when: {system: A bank, turn: 1}
    toolCalls: [{name: transfer_to_savings}]
  - when: {system: You help, turn: 1}
    toolCalls: [{name: ask_researcher, arguments: {q: "What is the rule for late refunds?"}}]
  - when: {system: You research, turn: 1}
    toolCalls: [{name: look_up}]
  - when: {system: You refund, turn: 2}
    toolCalls: [{name: pay_back}]
  - when: {system: You refund}
    reply: Paid back.
  - when: {system: Keep the log}
    reply: Noted.
  - reply: Done.
"""


def traced(tmp_path: Path, program: str) -> tuple[list[tuple[str, str, str]], str]:
    """What the program's agents said and called, each with its agent; and what `show` says."""
    repo = Repo(tmp_path / "shop")
    repo.write("agent.yaml", AGENT)
    repo.write("agent.py", ASKING + program)
    repo.write("evals/fixture.yaml", FIXTURE)
    repo.write("evals/eval.yaml", EVAL)
    repo.write(".gateval/scripted/support.yaml", SCRIPT)
    repo.commit("Begin")
    results = tmp_path / "out"
    done = gateval(repo, "run", "support-eval", "--results", str(results))
    assert done.returncode == 1, done.stdout + done.stderr
    (trial, *_) = json.loads((results / "results.v1.json").read_text())["trials"]
    steps: list[dict[str, Any]] = trial["trace"]["steps"]
    told = [
        (one.get("agent", ""), one["kind"], one["tool"] or one["text"])
        for one in steps
        if one["kind"] in {"assistant", "tool_call"}
    ]
    shown = gateval(repo, "show", str(results), "refund")
    return told, shown.stdout


def test_an_agent_that_was_handed_the_talk_has_the_name_of_the_handing_over(tmp_path: Path) -> None:
    told, shown = traced(tmp_path, HAND_OVER)
    assert told == [
        ("", "tool_call", "transfer_to_refunds"),
        ("refunds", "tool_call", "pay_back"),
        ("refunds", "assistant", "Paid back."),
        ("", "assistant", "Noted."),
        ("refunds", "assistant", "Paid back."),
    ]
    assert "4 tool call [refunds]" in shown
    assert "8 agent [2]" in shown, "who has no name has a number"
    assert "9 agent [refunds]" in shown


def test_who_gets_the_talk_back_has_its_name_from_the_beginning(tmp_path: Path) -> None:
    told, _ = traced(tmp_path, BACK)
    assert told == [
        ("triage", "tool_call", "transfer_to_refunds"),
        ("refunds", "tool_call", "pay_back"),
        ("refunds", "tool_call", "transfer_back_to_triage"),
        ("triage", "assistant", "Done."),
    ]


def test_an_agent_that_is_a_tool_has_the_tools_name(tmp_path: Path) -> None:
    told, _ = traced(tmp_path, AS_TOOL)
    assert told == [
        ("", "tool_call", "ask_researcher"),
        ("ask_researcher", "tool_call", "look_up"),
        ("ask_researcher", "assistant", "Done."),
        ("", "assistant", "Done."),
    ]


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ('Help.\n\nYou are an agent. Your internal name is "greeter".', "greeter"),
        ("You are Senior Clerk. You know it all.\nYour personal goal is: help", "Senior Clerk"),
        ("You are kind. Say so.", ""),
    ],
)
def test_frameworks_that_write_the_name_into_the_prompt_are_read(
    tmp_path: Path, system: str, name: str
) -> None:
    told, _ = traced(tmp_path, NAMED.replace("SYSTEM", repr(system)))
    assert told == [(name, "assistant", "Done.")]


def test_a_tool_that_transfers_money_hands_nothing_over(tmp_path: Path) -> None:
    told, shown = traced(tmp_path, BANK)
    assert told == [("", "tool_call", "transfer_to_savings"), ("", "assistant", "Done.")]
    assert "2 tool call" in shown
    assert "[savings]" not in shown
