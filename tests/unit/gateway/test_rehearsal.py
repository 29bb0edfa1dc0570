"""What answers for every model while `init` tries an agent: what the request demands."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from gateval.domain.trials.model_call import Message, ModelRequest, ToolDefinition
from gateval.gateway.rehearsal import SAID, Rehearsal

SCHEMA: JsonValue = {
    "type": "object",
    "properties": {
        "safe": {"type": "boolean"},
        "kind": {"enum": ["a", "b"]},
        "score": {"type": ["integer", "null"], "minimum": 3},
        "notes": {"type": "array", "items": {"type": "string"}},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}, "minItems": 1},
        "again": {"$ref": "#/$defs/Again"},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "$defs": {"Part": {"const": 7}, "Again": {"$ref": "#/$defs/Again"}},
}
EXAMPLE = {
    "safe": True, "kind": "a", "score": 3, "notes": [], "parts": [7], "again": SAID, "either": SAID,
}  # fmt: skip


def asked(*tools: str, system: str = "You help.") -> ModelRequest:
    return ModelRequest(
        model="gpt-5",
        messages=(Message(role="system", text=system), Message(role="user", text="Hello")),
        tools=tuple(ToolDefinition(name=name) for name in tools),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"output_config": {"format": {"schema": SCHEMA}}},
        {"generationConfig": {"responseSchema": SCHEMA}},
    ],
)
def test_json_of_the_schema_that_a_request_names(fields: dict[str, JsonValue]) -> None:
    reply = Rehearsal(scripted=True).reply(asked(), fields)
    assert json.loads(reply.text) == EXAMPLE


@pytest.mark.parametrize(
    ("fields", "called"),
    [
        ({}, ""),
        ({"tool_choice": "auto"}, ""),
        ({"tool_choice": "none"}, ""),
        ({"tool_choice": "required"}, "look"),
        ({"tool_choice": {"type": "any"}}, "look"),
        ({"tool_choice": {"type": "tool", "name": "send"}}, "send"),
        ({"tool_choice": {"type": "function", "function": {"name": "send"}}}, "send"),
        ({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "look"),
    ],
)
def test_a_tool_is_called_only_where_one_has_to_be(
    fields: dict[str, JsonValue], called: str
) -> None:
    reply = Rehearsal(scripted=True).reply(asked("look", "send"), fields)
    assert [call.name for call in reply.tool_calls] == [called] * bool(called)
    assert bool(reply.text) != bool(called)


def test_agents_that_answer_by_a_tool_or_by_code_get_that() -> None:
    rehearsal = Rehearsal(scripted=True)
    (call,) = rehearsal.reply(asked("look", "final_answer"), {}).tool_calls
    assert call.name == "final_answer"
    code = rehearsal.reply(asked(system="Write <code> that ends in final_answer(x)."), {}).text
    assert code == f'<code>\nfinal_answer("{SAID}")\n</code>'


def test_agents_and_tools_are_counted_once() -> None:
    rehearsal = Rehearsal(scripted=False)
    for request in (
        asked("look", "final_result"),
        asked("look", "final_result"),
        asked("send", system="You send."),
    ):
        rehearsal.saw(request)
    assert (rehearsal.calls, len(rehearsal.agents), rehearsal.tools) == (3, 2, {"look", "send"})
