"""Scripted models: which rule answers, and that it does so every time."""

from __future__ import annotations

from typing import Any

import pytest

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.model_call import (
    Message,
    ModelRequest,
    StopReason,
    ToolCall,
    ToolDefinition,
)
from gateval.gateway.scripted import answer


def script(*rules: dict[str, Any], seed: int = 0) -> ScriptedModel:
    spec = ScriptedSpec.model_validate({"seed": seed, "rules": rules})
    return ScriptedModel(name="s", spec=spec, path=".gateval/scripted/s.yaml", digest="0")


def talk(*messages: tuple[str, str]) -> ModelRequest:
    said = tuple(Message.model_validate({"role": role, "text": text}) for role, text in messages)
    return ModelRequest(model="ignored", messages=said)


FIRST = talk(("system", "You help."), ("user", "A refund, please"))
AFTER_TOOL = talk(("user", "A refund, please"), ("assistant", ""), ("tool", "order 7: open"))
SECOND = talk(("user", "A refund, please"), ("assistant", "Why?"), ("user", "Broken"))


@pytest.mark.parametrize(
    ("when", "request_", "expected"),
    [
        ({}, FIRST, True),
        ({"user": "refund"}, FIRST, True),
        ({"user": "Refund"}, FIRST, False),
        ({"user": "refund"}, SECOND, False),
        ({"user": "refund"}, AFTER_TOOL, True),
        ({"tool": "open"}, AFTER_TOOL, True),
        ({"tool": "closed"}, AFTER_TOOL, False),
        ({"tool": ""}, FIRST, False),
        ({"system": "help"}, FIRST, True),
        ({"system": "help"}, SECOND, False),
        ({"turn": 1}, FIRST, True),
        ({"turn": 2}, SECOND, True),
        ({"turn": 2}, FIRST, False),
        ({"model": "s"}, FIRST, True),
        ({"model": "t"}, FIRST, False),
        ({"user": "refund", "turn": 2}, FIRST, False),
        ({"user": "refund"}, talk(), False),
    ],
)
def test_conditions(when: dict[str, Any], request_: ModelRequest, expected: bool) -> None:
    got = answer(script({"when": when, "reply": "yes"}), "s", request_)
    assert (got is not None) == expected


def test_the_first_rule_that_applies_answers() -> None:
    rules = script({"when": {"turn": 2}, "reply": "b"}, {"reply": "a", "latencySeconds": 2})
    got = answer(rules, "s", FIRST)
    assert got is not None
    assert (got.reply.text, got.seconds, got.reply.model) == ("a", 2, "s")
    assert got.reply.stop is StopReason.END


def test_tool_calls_have_stable_ids_of_their_own() -> None:
    calls = [{"name": "f", "arguments": {"x": 1}}, {"name": "f"}]
    rules = script({"toolCalls": calls})
    first, again, later = (answer(rules, "s", request) for request in (FIRST, FIRST, SECOND))
    assert first is not None
    assert later is not None
    assert first == again
    assert first.reply.stop is StopReason.TOOL_CALLS
    ids = [call.id for each in (first, later) for call in each.reply.tool_calls]
    assert len(set(ids)) == 4
    assert all(len(each) <= 40 for each in ids)


def test_probability_is_drawn_from_seed_and_conversation() -> None:
    def share(seed: int) -> tuple[bool, ...]:
        rules = script({"probability": 0.3, "reply": "x"}, seed=seed)
        asked = [talk(("user", str(number))) for number in range(400)]
        return tuple(answer(rules, "s", request) is not None for request in asked)

    assert share(1) == share(1)
    assert share(1) != share(2)
    assert 0.2 < sum(share(1)) / 400 < 0.4


def test_ids_of_tool_calls_do_not_change_the_draw() -> None:
    rules = script({"probability": 0.5, "reply": "x"})

    def drawn(call_id: str, number: int) -> bool:
        call = ToolCall(id=call_id, name="f", arguments={"n": number})
        messages = (
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", text="1", tool_call_id=call_id),
        )
        return answer(rules, "s", ModelRequest(model="s", messages=messages)) is not None

    draws = [(drawn("a", number), drawn("b", number)) for number in range(50)]
    assert all(one == other for one, other in draws)
    assert len(set(draws)) == 2


def test_usage_is_estimated() -> None:
    request = talk(("user", "x" * 40)).model_copy(
        update={"tools": (ToolDefinition(name="f", input_schema={}),)}
    )
    got = answer(script({"reply": "y" * 9}), "s", request)
    assert got is not None
    assert (got.reply.usage.input_tokens, got.reply.usage.output_tokens) == (11, 3)
