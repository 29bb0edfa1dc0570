"""Domain values as native manifests, so that reading these gives the values again."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.fixtures.attached import FilePart, TextPart
from gateval.domain.manifests.fixtures.messages import Content, InputMessage, Role
from gateval.formats.native.kinds.assertion import PARTS
from gateval.formats.native.written import NATIVE_VERSION, canonical

FileOf = Callable[[str], str | None]
"""Returns the path of a file, from the root, by what a text part calls it; None if unknown."""


def agent_document(agent: Agent) -> JsonObject:
    """Return the manifest of an Agent; its paths count from the root already."""
    spec = canonical(agent.spec)
    runtime = spec.get("runtime")
    if isinstance(runtime, dict):
        options = runtime.pop("options", {})
        spec["runtime"] = {**runtime, **(options if isinstance(options, dict) else {})}
    return _document("Agent", agent.name, agent.labels, spec)


def eval_document(evaluation: Eval) -> JsonObject:
    """Return the manifest of an Eval."""
    spec: JsonObject = {
        "targetAgent": evaluation.target_agent,
        "fixtures": list(evaluation.fixtures),
        "judge": canonical(evaluation.judge),
        "scoring": canonical(evaluation.scoring),
        "execution": canonical(evaluation.execution),
    }
    return _document("Eval", evaluation.name, evaluation.labels, _filled(spec))


def fixture_document(fixture: Fixture, file_of: FileOf) -> JsonObject:
    """Return the manifest of a fixture; texts of files stand there as files again."""
    asked: JsonObject = {"type": fixture.input.type.value}
    if fixture.input.payload:
        asked["payload"] = fixture.input.payload
    if fixture.input.messages:
        asked["messages"] = [_message(one, file_of) for one in fixture.input.messages]
    whole = [_assertion(one) for one in fixture.assertions if one.turn is None]
    turns: list[JsonValue] = [
        _filled({
            "user": _content(turn, file_of),
            "assertions": [_assertion(one) for one in fixture.assertions if one.turn == number],
        })
        for number, turn in enumerate(fixture.turns, 1)
    ]  # fmt: skip
    spec: JsonObject = {
        "description": fixture.description.strip(),
        "input": asked,
        "turns": turns,
        "reference": canonical(fixture.reference) if fixture.reference else {},
        "assertions": [*whole],
    }
    return _document("EvalFixture", fixture.name, fixture.labels, _filled(spec))


def _document(kind: str, name: str, labels: dict[str, str], spec: JsonObject) -> JsonObject:
    metadata: JsonObject = {"name": name} | ({"labels": {**labels}} if labels else {})
    return {"apiVersion": NATIVE_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


def _assertion(spec: AssertionSpec) -> JsonObject:
    written: JsonObject = {"type": spec.type}
    if spec.name:
        written["name"] = spec.name
    if spec.weight != 1:
        written["weight"] = spec.weight
    if spec.required:
        written["required"] = True
    written |= spec.options
    if spec.parts:
        written[PARTS] = [_assertion(part) for part in spec.parts]
    return written


def _message(message: InputMessage, file_of: FileOf) -> JsonObject:
    written: JsonObject = {"role": message.role.value}
    plain = message.role is not Role.USER  # only the user sends files
    written["content"] = _content(message.content, (lambda _name: None) if plain else file_of)
    if message.tool_calls:
        written["toolCalls"] = [canonical(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        written["toolCallId"] = message.tool_call_id
    return written


def _content(content: Content, file_of: FileOf) -> JsonValue:
    if isinstance(content, str):
        return content
    parts: list[JsonValue] = []
    for part in content:
        path = file_of(part.file) if isinstance(part, TextPart) and part.file else None
        if path is not None:
            parts.append({"type": "file", "path": f"/{path}"})
        elif isinstance(part, FilePart):
            parts.append({"type": part.type, "path": part.path})
        else:
            parts.append({"type": "text", "text": part.text})
    return parts


def _filled(spec: JsonObject) -> JsonObject:
    return {key: value for key, value in spec.items() if value not in ("", [], {})}
