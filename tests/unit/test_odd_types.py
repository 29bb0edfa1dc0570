"""Whatever sort of value stands where another belongs, every reader of what comes from outside says
so in its own words: no TypeError, no KeyError, nothing that only a log would show.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from gateval.app.readers import registries
from gateval.candidates.agentv import read_output
from gateval.candidates.contract import ClaimError, read_answer
from gateval.domain.tree import TreeEntry
from gateval.errors import GatevalError
from gateval.formats.base import GatheringContext
from gateval.formats.github.event import read_trigger
from gateval.formats.github.workflow import gate_jobs, unreadable
from gateval.formats.native.gate_config import read_gate_config, read_scripted
from gateval.formats.registry import formats_of, gather, read_file
from gateval.formats.traces import read_runs
from gateval.gateway.upstream.retry import cannot_pay
from gateval.wire.account import most_tokens, refusal
from gateval.wire.base import SseEvent, WireError
from gateval.wire.registry import FORMATS, INPUT_FORMATS, WIRE_FORMATS
from tests.helpers.tiers import examples

ROOT = Path(__file__).parents[2]
ODD: tuple[JsonValue, ...] = (
    None, True, False, 0, -1, 3, 1e308, 10**30, "", " ", "x", "é\u2028", "1", [], ["x"], [[]], [1, None],
    {}, {"x": 1}, {"type": ["x"]}, [{}], [{"type": {}}],
)  # fmt: skip
"""What stands where something else belongs."""


def paths(value: JsonValue, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The ways to every value inside."""
    inner: list[tuple[str | int, JsonValue]] = []
    if isinstance(value, dict):
        inner = [*value.items()]
    elif isinstance(value, list):
        inner = [*enumerate(value)]
    return [at, *(way for key, one in inner for way in paths(one, (*at, key)))]


@st.composite
def warped(draw: st.DrawFn, samples: tuple[JsonValue, ...]) -> JsonValue:
    """A sample in which one value or a few are of another sort."""
    value = copy.deepcopy(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(paths(value)))
        odd = copy.deepcopy(draw(st.sampled_from(ODD)))
        if not way:
            value = odd
            continue
        holder: Any = value
        for step in way[:-1]:
            holder = holder[step]
        holder[way[-1]] = odd
    return value


def written(value: JsonValue) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


@cache
def manifests() -> tuple[JsonValue, ...]:
    found = []
    for path in sorted((ROOT / "examples").rglob("*.yaml")):
        if "agentv" not in path.parts and ".gateval" not in path.parts:
            found += [one for one in yaml.safe_load_all(path.read_text("utf-8")) if one]
    return tuple(json.loads(json.dumps(one, default=str)) for one in found)


def read_manifest(value: JsonValue) -> None:
    known, data = registries(), written(value)
    read_file("a.yaml", data, known, formats_of("a.yaml", data))


SUITE: JsonValue = {
    "description": "d", "dataset": "d", "execution": {
        "target": "default", "targets": None, "workers": 2, "threshold": 0.5,
        "trials": {"count": 2, "strategy": "mean"}, "evaluators": None, "skip_defaults": False,
    },
    "metadata": {"a": 1}, "input_files": ["doc.md"], "tests": [
        {
            "id": "a", "criteria": "Good", "conversation_id": "c", "sidecar": {"x": 1},
            "input": [
                {"role": "system", "content": "Be kind"},
                {"role": "user", "content": [
                    {"type": "text", "value": "Hi {{ name }}"}, {"type": "file", "value": "doc.md"},
                ]},
            ],
            "vars": {"name": "x"},
            "expected_output": [{"role": "assistant", "content": "x", "tool_calls": [{"tool": "t", "input": {}}]}],
            "rubrics": ["One", {"id": "r", "outcome": "x", "weight": 1, "required": True,
                                "score_ranges": {"0": "bad", "5": "good"}, "required_min_score": 3,
                                "operator": "contradiction", "min_score": 0.5}],
            "execution": {"target": "default", "evaluators": None},
            "assertions": [
                "A text",
                {"include": "shared"},
                {"name": "c", "type": "composite", "evaluators": [{"name": "m", "type": "contains", "value": "x"}],
                 "aggregator": {"type": "weighted_average", "weights": {"m": 2}}},
                {"name": "t", "type": "tool_trajectory", "mode": "in_order", "minimums": {"t": 1},
                 "expected": [{"tool": "t", "args": {"a": 1}, "max_duration_ms": 3, "args_match": "exact"}]},
                {"name": "f", "type": "field_accuracy", "aggregation": "all_or_nothing",
                 "fields": [{"path": "a", "match": "numeric_tolerance", "tolerance": 1, "required": True}]},
                {"name": "j", "type": "llm_judge", "prompt": "Score it", "config": {"a": 1}},
                {"name": "k", "type": "code_judge", "script": ["python3", "x.py"], "cwd": ".", "weight": 2},
                {"name": "l", "type": "latency", "threshold": 100, "required": True, "min_score": 0.5},
                {"name": "e", "type": "execution_metrics", "max_tool_calls": 3, "max_duration_ms": 3},
                {"name": "u", "type": "token_usage", "max_total": 3, "negate": True},
                {"name": "x", "type": "regex", "value": "a", "flags": "i"},
                {"name": "y", "type": "contains-any", "value": ["a"]},
                {"name": "s", "type": "skill-trigger", "skill": "x", "should_trigger": True},
            ],
        },
        {"id": "b", "criteria": "Good", "input": "x", "evaluators": None},
        {"id": "t", "criteria": "Good", "mode": "conversation", "aggregation": "mean",
         "turns": [{"input": "Hi", "assertions": [{"name": "z", "type": "contains", "value": "a"}],
                    "expected_output": "x"}]},
    ],
}  # fmt: skip
TARGETS: JsonValue = {
    "targets": [
        {"name": "default", "provider": "cli", "command": "python3 bot.py {PROMPT} {FILES}", "cwd": ".",
         "judge_target": "judge", "timeout_seconds": 3, "workers": 2, "files_format": "{path}",
         "gateval": {"env": {"A": "b"}, "include": ["/x"], "models": ["openai/a"]}},
        {"name": "judge", "provider": "openai", "model": "m", "system_prompt": "x", "use_target": None},
    ]
}  # fmt: skip
INCLUDED: JsonValue = {"assertions": [{"name": "i", "type": "contains", "value": "x"}]}
CONFIG: JsonValue = {"guideline_patterns": ["**/*.md"], "eval_patterns": ["**/*"]}
COMPANION: JsonValue = {"description": "d", "execution": {"target": "default"}}
SUITES: tuple[JsonValue, ...] = (
    {"suite": SUITE, "targets": TARGETS, "included": INCLUDED, "config": CONFIG,
     "companion": COMPANION, "line": {"id": "a", "criteria": "x", "input": "y"}, "cases": []},
)  # fmt: skip


def read_suites(value: JsonValue) -> None:
    parts = value if isinstance(value, dict) else {}
    files = {
        "s.eval.yaml": written(parts.get("suite")),
        ".agentv/targets.yaml": written(parts.get("targets")),
        ".agentv/config.yaml": written(parts.get("config")),
        ".agentv/templates/shared.yaml": written(parts.get("included")),
        "c.yaml": written(parts.get("companion")),
        "c.jsonl": written(parts.get("line")),
        "d.jsonl": written(parts.get("line")) + b"\n" + written(parts.get("suite")),
        "e.yaml": written([parts.get("line")]),
        "doc.md": b"text",
        "bot.py": b"",
    }
    known = registries()
    tree = {path: TreeEntry("100644", path) for path in files}
    read = [read_file(path, data, known, formats_of(path, data)) for path, data in files.items()]
    pending = [one for found in read if found for one in found.pending]
    gather(pending, GatheringContext(tree, files.get, known))


WORKFLOW: tuple[JsonValue, ...] = (
    {"on": {"pull_request": {"types": ["opened"], "paths": ["x"]}, "merge_group": None},
     "permissions": {"contents": "read"}, "env": {"A": "b"}, "concurrency": {"group": "x"},
     "jobs": {"gate": {"name": "x", "runs-on": "ubuntu", "timeout-minutes": 5, "env": {"B": "c"},
                       "permissions": {"checks": "write"}, "if": "x", "continue-on-error": False,
                       "strategy": {"matrix": {"a": [1]}}, "needs": ["a"],
                       "steps": [{"uses": "actions/checkout@v4", "with": {"fetch-depth": 0}},
                                 {"uses": "gateval/gateval@v1", "env": {}, "continue-on-error": False,
                                  "with": {"step": "all", "token": "x", "max-minutes": 5}}]},
              "called": {"uses": "./.github/workflows/gateval.yml", "with": {}}}},
)  # fmt: skip


def read_workflow(value: JsonValue) -> None:
    gate_jobs(".github/workflows/a.yml", written(value))
    unreadable(".github/workflows/a.yml", written(value))


CONFIGS: tuple[JsonValue, ...] = (
    {"manifests": ["**/*"], "agents": [{"name": "a", "paths": ["x"]}], "policy": {
        "regressions": "block", "budget": {"usd": 1, "tokens": 2}, "bypass": {"roles": ["admin"]},
        "gateway": {"allow": ["store"], "maxTokens": 5}, "candidateEnv": ["A"], "mustBelong": ["x"],
        "egress": "gateway", "sources": ["github.com"], "bar": "strictest", "evalWeights": {"a": 1}}},
)  # fmt: skip
SCRIPTS: tuple[JsonValue, ...] = (
    {"description": "d", "rules": [
        {"when": {"user": "x", "system": "y", "turn": 1, "model": "m"}, "reply": "a", "probability": 0.5},
        {"toolCalls": [{"name": "t", "arguments": {"a": 1}}], "seconds": 1}]},
)  # fmt: skip
TOLD: tuple[JsonValue, ...] = (
    {"output": "x", "version": 1, "usage": {"input_tokens": 1, "output_tokens": 2}, "trace": [
        {"type": "user", "text": "x"}, {"type": "tool_call", "tool": "t", "arguments": {"a": 1}, "id": "1", "seconds": 1},
        {"type": "tool_result", "tool": "t", "text": "y", "id": "1"}, {"type": "assistant", "text": "z"}]},
    {"output_messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "text", "text": "x"}],
         "tool_calls": [{"tool": "t", "input": {"a": 1}, "output": "o", "id": "1", "duration_ms": 3,
                         "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z"}]},
        {"role": "tool", "name": "t", "content": "x"}],
     "token_usage": {"input": 1, "output": 2}, "cost_usd": 0.1, "duration_ms": 3, "llm_call_count": 2, "text": "x"},
)  # fmt: skip


def read_told(value: JsonValue) -> None:
    for read in (read_answer, lambda data: read_output(data, "Hi")):
        with suppress(ClaimError):
            read(written(value))


TOOL: JsonValue = {
    "type": "function",
    "function": {"name": "t", "description": "d", "parameters": {"type": "object"}},
}
REQUESTS: tuple[JsonValue, ...] = (
    {"model": "m", "stream": False, "max_tokens": 5, "n": 1, "temperature": 0.5, "store": True, "tools": [
        TOOL, {"type": "mcp", "server_url": "x", "connector_id": "y"}, {"type": "function", "name": "t", "parameters": {}},
        {"name": "t", "input_schema": {}, "description": "d"}, {"functionDeclarations": [{"name": "t", "parameters": {}}]}],
     "system": [{"type": "text", "text": "x"}], "instructions": "x", "systemInstruction": {"parts": [{"text": "x"}]},
     "audio": {"voice": {"id": "x"}}, "container": {"id": "x"}, "mcp_servers": [{"url": "x"}],
     "generationConfig": {"maxOutputTokens": 5, "temperature": 1, "candidateCount": 1},
     "messages": [
        {"role": "system", "content": "x"}, {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "1", "name": "t", "input": {}}],
         "tool_calls": [{"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "x"}], "is_error": False}]}],
     "input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}, {"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"},
               {"type": "function_call_output", "call_id": "1", "output": "x"}, {"type": "image_generation_call", "result": "x"}, {"type": "reasoning", "summary": []}],
     "contents": [{"role": "user", "parts": [{"text": "x"}, {"inlineData": {"mimeType": "image/png", "data": "eA=="}}, {"functionResponse": {"name": "t", "response": {}}}]},
                  {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}, {"executableCode": {"code": "x"}}]}],
     "requests": [{"model": "m", "content": {"parts": [{"text": "x"}]}}], "content": {"parts": [{"text": "x"}]},
     "contentsx": 1, "dimensions": 3, "previous_response_id": "x", "text": {"format": {"type": "json_schema", "schema": {}}}},
)  # fmt: skip
REPLIES: tuple[JsonValue, ...] = (
    {"id": "x", "model": "m", "service_tier": "default", "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x", "refusal": None, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
         "delta": {"role": "assistant", "content": "x", "tool_calls": [{"index": 0, "id": "1", "function": {"name": "t", "arguments": "{}"}}]}}],
     "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1},
               "input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 1,
               "input_tokens_details": {"cached_tokens": 1}, "output_tokens_details": {"reasoning_tokens": 1}, "service_tier": "x"},
     "type": "message", "role": "assistant", "stop_reason": "end_turn", "status": "completed", "error": None,
     "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "1", "name": "t", "input": {}}, {"type": "thinking", "thinking": "x"},
                 {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {}}],
     "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}, {"type": "refusal", "refusal": "x"}]},
                {"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"}, {"type": "mcp_call", "name": "t", "arguments": "{}", "output": "x"}],
     "incomplete_details": {"reason": "x"},
     "candidates": [{"content": {"role": "model", "parts": [{"text": "x"}, {"functionCall": {"name": "t", "args": {}, "id": "1"}}]}, "finishReason": "STOP"}],
     "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 1, "cachedContentTokenCount": 1},
     "modelVersion": "m", "responseId": "x", "promptFeedback": {"blockReason": "x"}},
    {"error": {"message": "x", "type": "insufficient_quota", "code": "x", "param": None, "status": "x", "details": [{"a": 1}]}, "type": "error"},
    {"object": "list", "data": [{"embedding": [0.1], "index": 0}], "model": "m", "usage": {"prompt_tokens": 1},
     "results": [{"flagged": False, "categories": {"a": False}, "category_scores": {"a": 0.1}}],
     "embeddings": [{"values": [0.1]}], "embedding": {"values": [0.1]}},
)  # fmt: skip


def read_request(value: JsonValue) -> None:
    body = written(value)
    for each in WIRE_FORMATS.values():
        with suppress(WireError):
            each.decode_request(body)
    if isinstance(value, dict):
        refusal(body, value, allow=(), max_tokens=100)
        most_tokens(value)
        for one in FORMATS.values():
            with suppress(WireError):
                one.for_model(value, "m")


def read_reply(value: JsonValue) -> None:
    body = written(value)
    for each in WIRE_FORMATS.values():
        with suppress(WireError):
            each.decode_reply(body)
    for one in FORMATS.values():
        one.decode_error(body)
    for status in (400, 403, 429):
        cannot_pay(status, body)
    for measured in INPUT_FORMATS.values():
        with suppress(WireError):
            measured.decode_reply(body)
        with suppress(WireError):
            measured.decode_request(body)


EVENTS: tuple[JsonValue, ...] = tuple(
    [
        {"type": kind, "index": 0, "output_index": 0, "item_id": "x", "content_index": 0, "delta": {"type": "text_delta", "text": "x", "partial_json": "{}", "stop_reason": "end_turn"},
         "message": {"id": "x", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}},
         "content_block": {"type": "tool_use", "id": "1", "name": "t", "input": {}}, "usage": {"output_tokens": 2},
         "error": {"type": "x", "message": "y", "code": "z"}, "item": {"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"},
         "response": {"id": "x", "model": "m", "status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "x"}]}],
                      "usage": {"input_tokens": 1, "output_tokens": 1}, "error": {"message": "x"}}}
        for kind in ("message_start", "content_block_start", "content_block_delta", "message_delta", "error",
                     "response.created", "response.output_item.done", "response.output_text.delta",
                     "response.completed", "response.failed")
    ]
)  # fmt: skip


def read_event_of_stream(value: JsonValue) -> None:
    for each in WIRE_FORMATS.values():
        reader = each.stream_reader({})
        name = value.get("type") if isinstance(value, dict) else ""
        event = SseEvent(name if isinstance(name, str) else "", json.dumps(value))
        with suppress(WireError):
            reader.read(event)
            reader.reply()


@cache
def payloads() -> tuple[JsonValue, ...]:
    found = json.loads((ROOT / "tests/data/github/webhook-payloads.json").read_text("utf-8"))
    return (found,) if not isinstance(found, dict) else tuple(found.values())


RUNNER = {"GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": "a" * 40, "GITHUB_REF": "refs/heads/main"}


def read_payload(value: JsonValue) -> None:
    for name in (
        "pull_request",
        "push",
        "merge_group",
        "schedule",
        "workflow_dispatch",
        "issue_comment",
    ):
        environ: Mapping[str, str] = {**RUNNER, "GITHUB_EVENT_NAME": name}
        with suppress(GatevalError):
            read_trigger(environ, written(value))


RECORDS: tuple[JsonValue, ...] = (
    [{"role": "user", "content": [{"type": "text", "text": "x"}]}, {"role": "assistant", "content": "y", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "z"}],
    {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]}]},
    {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": [
        {"traceId": "a", "spanId": "b", "parentSpanId": "", "name": "chat", "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.input.messages", "value": {"stringValue": "[]"}},
            {"key": "gen_ai.output.messages", "value": {"arrayValue": {"values": [{"stringValue": "x"}]}}}],
         "events": [{"name": "x", "attributes": [{"key": "a", "value": {"intValue": "1"}}]}]}]}]}]},
    {"trials": [{"key": {"eval": "e", "fixture": "f", "side": "head", "repetition": 1}, "output": "x",
                 "trace": {"steps": [{"number": 1, "kind": "user", "text": "x"}], "source": "gate"}}], "version": 1},
)  # fmt: skip


def read_records(value: JsonValue) -> None:
    with suppress(GatevalError):
        list(read_runs(written(value), "runs.json"))


READERS: dict[str, tuple[Callable[[], tuple[JsonValue, ...]], Callable[[JsonValue], None]]] = {
    "manifests": (manifests, read_manifest),
    "AgentV": (lambda: SUITES, read_suites),
    "workflows": (lambda: WORKFLOW, read_workflow),
    "gate config": (lambda: CONFIGS, lambda value: void(read_gate_config("g.yml", written(value)))),
    "scripted models": (lambda: SCRIPTS, lambda value: void(read_scripted("s.yaml", written(value)))),
    "answers": (lambda: TOLD, read_told),
    "requests": (lambda: REQUESTS, read_request),
    "replies": (lambda: REPLIES, read_reply),
    "streams": (lambda: EVENTS, read_event_of_stream),
    "events": (payloads, read_payload),
    "records": (lambda: RECORDS, read_records),
}  # fmt: skip


def void(_: object) -> None:
    """Take a value, and nothing more."""


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data())
def test_a_value_of_another_sort_breaks_no_reader(reader: str, data: st.DataObject) -> None:
    samples, read = READERS[reader]
    read(data.draw(warped(samples())))


@pytest.mark.parametrize("reader", READERS)
def test_the_samples_themselves_are_read(reader: str) -> None:
    samples, read = READERS[reader]
    for sample in samples():
        read(sample)
