"""Recorded runs in the formats of others, made from trials that an agent really had."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def steps_of(trial: Json) -> list[Json]:
    """The steps of a stored trial."""
    steps: list[Json] = trial["trace"]["steps"]
    return steps


def openai_chat(trial: Json) -> Json:
    """Chat messages as OpenAI has them, arguments as text."""
    messages: list[Json] = [{"role": "system", "content": "You help."}]
    for step in steps_of(trial):
        if step["kind"] == "tool_call":
            call = {
                "id": step["call_id"],
                "type": "function",
                "function": {"name": step["tool"], "arguments": json.dumps(step["arguments"])},
            }
            if messages[-1].get("tool_calls"):
                messages[-1]["tool_calls"].append(call)
            else:
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif step["kind"] == "tool_result":
            messages.append(
                {"role": "tool", "tool_call_id": step["call_id"], "content": step["text"]}
            )
        else:
            messages.append({"role": step["kind"], "content": step["text"]})
    return {"id": "conv-1", "messages": messages}


def bare_chat(trial: Json) -> list[Json]:
    """The list of messages alone."""
    messages: list[Json] = openai_chat(trial)["messages"]
    return messages


def anthropic_chat(trial: Json) -> Json:
    """Messages with blocks, as Anthropic has them."""
    messages: list[Json] = []
    for step in steps_of(trial):
        if step["kind"] == "tool_call":
            block = {
                "type": "tool_use",
                "id": step["call_id"],
                "name": step["tool"],
                "input": step["arguments"],
            }
            messages.append({"role": "assistant", "content": [block]})
        elif step["kind"] == "tool_result":
            result = {
                "type": "tool_result",
                "tool_use_id": step["call_id"],
                "content": [{"type": "text", "text": step["text"]}],
            }
            messages.append({"role": "user", "content": [result]})
        else:
            text = [{"type": "text", "text": step["text"]}]
            messages.append({"role": step["kind"], "content": text})
    return {"system": "You help.", "messages": messages}


def request_and_response(trial: Json) -> Json:
    """A logged call: the request's messages, and the reply beside them."""
    messages = openai_chat(trial)["messages"]
    return {
        "request": {"model": "gpt-5", "messages": messages[:-1]},
        "response": {"choices": [{"index": 0, "message": messages[-1]}]},
    }


def _span(name: str, attributes: Json, at: int) -> Json:
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{at:016x}",
        "name": name,
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + at),
        "attributes": [{"key": key, "value": _typed(value)} for key, value in attributes.items()],
    }


def _typed(value: Any) -> Json:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_typed(one) for one in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": _typed(one)} for key, one in value.items()]
        return {"kvlistValue": {"values": pairs}}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value}


def _export(spans: list[Json]) -> Json:
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "app"}, "spans": spans}]}]}


def _parts(step: Json) -> Json:
    if step["kind"] == "tool_call":
        part = {
            "type": "tool_call",
            "id": step["call_id"],
            "name": step["tool"],
            "arguments": step["arguments"],
        }
        return {"role": "assistant", "parts": [part]}
    if step["kind"] == "tool_result":
        part = {"type": "tool_call_response", "id": step["call_id"], "response": step["text"]}
        return {"role": "tool", "parts": [part]}
    return {"role": step["kind"], "parts": [{"type": "text", "content": step["text"]}]}


def genai_spans(trial: Json) -> Json:
    """OpenTelemetry's conventions: messages as JSON text on the span of the last call."""
    messages = [_parts(step) for step in steps_of(trial)]
    first = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages[:1])}
    last = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages[:-1]),
        "gen_ai.output.messages": json.dumps(messages[-1:]),
    }
    return _export([_span("chat gpt-5", last, 9), _span("chat gpt-5", first, 1)])


def genai_typed_spans(trial: Json) -> Json:
    """The same with structured attributes, and what tools answered on spans of theirs alone."""
    steps = steps_of(trial)
    messages = [_parts(step) for step in steps if step["kind"] != "tool_result"]
    spans = [
        _span(
            "chat gpt-5",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": messages[:-1],
                "gen_ai.output.messages": messages[-1:],
            },
            1,
        )
    ]
    for at, step in enumerate(steps):
        if step["kind"] == "tool_result":
            call = next(
                one
                for one in steps
                if one["kind"] == "tool_call" and one["call_id"] == step["call_id"]
            )
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call["tool"],
                "gen_ai.tool.call.id": step["call_id"],
                "gen_ai.tool.call.arguments": json.dumps(call["arguments"]),
                "gen_ai.tool.call.result": step["text"],
            }
            spans.append(_span(f"execute_tool {call['tool']}", attributes, 10 + at))
    return _export(spans)


def openinference_spans(trial: Json) -> Json:
    """OpenInference: messages spread over attributes with numbers in their names."""
    attributes: Json = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-5"}
    messages = bare_chat(trial)
    for at, message in enumerate(messages):
        last = at == len(messages) - 1
        name = "llm.output_messages.0" if last else f"llm.input_messages.{at}"
        attributes[f"{name}.message.role"] = message["role"]
        if message.get("content") is not None:
            attributes[f"{name}.message.content"] = message["content"]
        if message.get("tool_call_id"):
            attributes[f"{name}.message.tool_call_id"] = message["tool_call_id"]
        for number, call in enumerate(message.get("tool_calls") or ()):
            inner = f"{name}.message.tool_calls.{number}.tool_call"
            attributes[f"{inner}.id"] = call["id"]
            attributes[f"{inner}.function.name"] = call["function"]["name"]
            attributes[f"{inner}.function.arguments"] = call["function"]["arguments"]
    return _export([_span("llm", attributes, 1)])


def openllmetry_spans(trial: Json) -> Json:
    """OpenLLMetry: `gen_ai.prompt.0.role` and so on."""
    attributes: Json = {"llm.request.type": "chat"}
    messages = bare_chat(trial)
    for at, message in enumerate(messages):
        last = at == len(messages) - 1
        name = "gen_ai.completion.0" if last else f"gen_ai.prompt.{at}"
        attributes[f"{name}.role"] = message["role"]
        if message.get("content") is not None:
            attributes[f"{name}.content"] = message["content"]
        if message.get("tool_call_id"):
            attributes[f"{name}.tool_call_id"] = message["tool_call_id"]
        for number, call in enumerate(message.get("tool_calls") or ()):
            inner = f"{name}.tool_calls.{number}"
            attributes[f"{inner}.id"] = call["id"]
            attributes[f"{inner}.name"] = call["function"]["name"]
            attributes[f"{inner}.arguments"] = call["function"]["arguments"]
    return _export([_span("openai.chat", attributes, 1)])


FORMATS: dict[str, Callable[[Json], Any]] = {
    "trial": lambda trial: trial,
    "openai": openai_chat,
    "bare": bare_chat,
    "anthropic": anthropic_chat,
    "request": request_and_response,
    "genai": genai_spans,
    "genai-typed": genai_typed_spans,
    "openinference": openinference_spans,
    "openllmetry": openllmetry_spans,
}
