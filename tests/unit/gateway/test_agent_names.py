"""What agents of a program are called, by what their requests show."""

from __future__ import annotations

import time

import pytest

from gateval.domain.trials.model_call import Message, ModelRequest, ToolCall
from gateval.gateway.local.recording import AgentNames

LONG = "What is the rule for late refunds?"


def call(name: str, number: str = "c", **arguments: str) -> ToolCall:
    return ToolCall(id=number, name=name, arguments=dict(arguments))


def asked(system: str, *calls: ToolCall, user: str = "Help", done: bool = False) -> ModelRequest:
    said = [Message(role="system", text=system), Message(role="user", text=user)]
    said += [Message(role="assistant", tool_calls=calls)] if calls else []
    said += [Message(role="tool", text="ok", tool_call_id=one.id) for one in calls if done]
    return ModelRequest(model="m", messages=tuple(said))


def named(names: AgentNames, request: ModelRequest, *, begins: bool = True) -> str:
    return names.name(names.asks(request, begins=begins))


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (call("transfer_to_refunds"), "refunds"),
        (call("handoff_to_refunds"), "refunds"),
        (call("hand_off_to_refunds"), "refunds"),
        (call("transfer_to_agent", agent_name="refunds"), "refunds"),
        (call("transfer_back_to_triage"), "triage"),
        (call("transfer"), ""),
        (call("please_transfer_to_refunds"), ""),
        (call("transfer_to_" + "x" * 200), "x" * 80),
        (call("transfer_to_a\n::error::b"), ""),
    ],
)
def test_a_hand_over_names_the_next_agent(tool: ToolCall, name: str) -> None:
    names = AgentNames()
    triage = names.asks(asked("Route."), begins=True)
    names.calls(triage, [tool])
    assert named(names, asked("Refund.", tool, done=True), begins=False) == name
    assert named(names, asked("Refund.", user="Again"), begins=True) == name
    assert names.name(triage) == ""


@pytest.mark.parametrize(
    ("tool", "user", "name"),
    [
        (call("ask_rules", q=LONG), LONG, "ask_rules"),
        (call("ask_rules", q=LONG), f"Task: {LONG}", "ask_rules"),
        (call("Task", prompt=LONG, subagent_type="reviewer"), LONG, "reviewer"),
        (call("ask_rules", q="it"), "What is it?", ""),
        (call("ask_rules", q="it"), "it", "ask_rules"),
        (call("ask_rules", q=""), "", ""),
        (call("ask_rules", q=LONG), "Another question", ""),
    ],
)
def test_an_agent_that_is_asked_as_a_tool_has_its_name(
    tool: ToolCall, user: str, name: str
) -> None:
    names = AgentNames()
    names.calls(names.asks(asked("Help."), begins=True), [tool])
    assert named(names, asked("Know.", user=user)) == name


def test_a_call_that_is_answered_begins_no_more_conversations() -> None:
    names = AgentNames()
    tool = call("ask_rules", q=LONG)
    names.calls(names.asks(asked("Help."), begins=True), [tool])
    names.asks(asked("Help.", tool, done=True), begins=False)
    assert named(names, asked("Know.", user=LONG)) == ""


def test_a_hostile_program_costs_no_time() -> None:
    names, began = AgentNames(), time.process_time()
    flood = "You are " + "a. " * 300_000 + 'Your internal name is "' * 1000
    key = names.asks(asked(flood, user="b" * 2_000_000), begins=True)
    many = {f"k{number}": f"{number:09}" for number in range(100_000)}
    names.calls(key, [call("ask", str(number), **many) for number in range(3)])
    for number in range(20):
        names.asks(asked(f"{flood}{number}", user="c" * 2_000_000), begins=True)
    assert time.process_time() - began < 5


def test_an_agent_hands_nothing_over_to_itself() -> None:
    names = AgentNames()
    tool = call("transfer_to_savings")
    bank = names.asks(asked("A bank."), begins=True)
    names.calls(bank, [tool])
    assert named(names, asked("A bank.", tool, done=True), begins=False) == ""
    earlier = asked("Alone.", call("transfer_to_savings", "earlier"), done=True)
    assert named(AgentNames(), earlier) == ""
