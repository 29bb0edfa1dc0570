"""Answers for every model while `init` tries whether an agent can be asked, and sees what it asks.

Nobody wrote rules for an agent that was found a moment ago. So the answer is what the request
demands: a call of the tool that it has to make, JSON of the schema that it names, else a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from gateval.domain.base import canonical_json
from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedRule, ScriptedSpec
from gateval.domain.trials.model_call import (
    InputKind,
    InputReply,
    InputRequest,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    ToolDefinition,
    Usage,
)
from gateval.gateway.scripted import measure

SAID = "I can help you with that."

_ENDS = ("final_answer", "final_result")
"""Tools by which agents of smolagents and Pydantic AI give their answer."""

_DEEPEST = 12
_SYSTEM = 120
"""Characters of a system prompt by which an agent is told from others: further on it may differ."""


class Rehearsal:
    """What agents asked in one trial. `scripted` says that no provider is asked."""

    def __init__(self, *, scripted: bool) -> None:
        self.scripted = scripted
        self.calls = 0
        self.tools: set[str] = set()
        self.agents: set[tuple[str, ...]] = set()

    def saw(self, request: ModelRequest) -> None:
        """Note a request of the agent's."""
        self.calls += 1
        offered = [tool.name for tool in request.tools]
        self.tools.update(name for name in offered if name not in _ENDS)
        system = [one.text[:_SYSTEM] for one in request.messages if one.role == "system"]
        self.agents.add((*system[:1], *sorted(offered)))

    def reply(self, request: ModelRequest, fields: Mapping[str, JsonValue]) -> ModelReply:
        """Return an answer to the request, whose body has these fields."""
        wanted = _tool(request, fields)
        schema = _first(fields, _SCHEMAS)
        calls: tuple[ToolCall, ...] = ()
        text = SAID
        if wanted is not None:
            arguments = _example(wanted.input_schema, wanted.input_schema, 0)
            given = arguments if isinstance(arguments, dict) else {}
            calls = (
                ToolCall(id=f"call_rehearsed_{self.calls}", name=wanted.name, arguments=given),
            )
            text = ""
        elif isinstance(schema, dict):
            text = canonical_json(_example(schema, schema, 0))
        elif any("final_answer(" in one.text and "<code>" in one.text for one in request.messages):
            text = f'<code>\nfinal_answer("{SAID}")\n</code>'
        return ModelReply(
            text=text,
            tool_calls=calls,
            stop=StopReason.TOOL_CALLS if calls else StopReason.END,
            usage=Usage(input_tokens=1, output_tokens=1),
            model=request.model,
        )

    def measured(self, kind: InputKind, request: InputRequest) -> InputReply:
        """Return vectors, or that nothing offends."""
        script = ScriptedModel(
            name="rehearsal",
            spec=ScriptedSpec(rules=(ScriptedRule(reply=SAID),)),
            path="",
            digest="",
        )
        return measure(script, kind, request)


_SCHEMAS = (
    ("response_format", "json_schema", "schema"),
    ("text", "format", "schema"),
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
)
"""Where a request of each format has the schema of its answer."""

_CHOICES = (
    ("tool_choice", "function", "name"),
    ("tool_choice", "name"),
    ("tool_choice", "type"),
    ("tool_choice",),
    ("toolConfig", "functionCallingConfig", "mode"),
)
"""Where it says that a tool has to be called, and which."""


def _first(fields: Mapping[str, JsonValue], places: Sequence[Sequence[str]]) -> JsonValue:
    for keys in places:
        found: JsonValue = dict(fields)
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None:
            return found
    return None


def _tool(request: ModelRequest, fields: Mapping[str, JsonValue]) -> ToolDefinition | None:
    """Return the tool that has to be called; None where an answer will do."""
    offered = {tool.name: tool for tool in request.tools}
    chosen = _first(fields, _CHOICES)
    end = next((offered[name] for name in _ENDS if name in offered), None)
    if isinstance(chosen, str) and chosen in offered:
        return offered[chosen]
    forced = isinstance(chosen, str) and chosen.lower() in {"required", "any"}
    return end or (next(iter(offered.values()), None) if forced else None)


def _at(whole: JsonValue, place: str) -> JsonValue:
    fields = whole if isinstance(whole, dict) else {}
    return _first(fields, [place.removeprefix("#/").split("/")])


def _example(schema: JsonValue, whole: JsonValue, depth: int) -> JsonValue:
    """Return a small value that a JSON Schema allows, as far as it is a plain one."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return SAID
    if isinstance(place := schema.get("$ref"), str):
        return _example(_at(whole, place), whole, depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if isinstance(choices, list) and choices:
        return _example(choices[0], whole, depth + 1)
    among = schema.get("enum")
    given = among[0] if isinstance(among, list) and among else schema.get("const")
    return _plain(schema, whole, depth) if given is None else given


def _plain(schema: Mapping[str, JsonValue], whole: JsonValue, depth: int) -> JsonValue:
    """Return a value of the type that a schema names."""
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return {name: _example(one, whole, depth + 1) for name, one in properties.items()}
    if kind == "array":
        return [_example(schema.get("items"), whole, depth + 1)] if schema.get("minItems") else []
    if kind in {"integer", "number"}:
        return schema.get("minimum", 1)
    plain: Mapping[str, JsonValue] = {"object": {}, "boolean": True, "null": None}
    return plain.get(kind, SAID)
