"""What no request may hold, at whatever depth it stands, and what only looks like it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateval.domain.manifests.gate_config import CallFeature
from gateval.wire.account import refusal


def refused(fields: dict[str, Any], *allow: CallFeature, raw: bytes | None = None) -> str:
    body = json.dumps(fields).encode() if raw is None else raw
    return refusal(body, json.loads(body), allow=allow, max_tokens=1000)


STORED: dict[str, dict[str, Any]] = {
    "file_id": {"input": [{"content": [{"type": "input_file", "file_id": "file-1"}]}]},
    "file_ids": {"tools": [{"container": {"type": "auto", "file_ids": ["file-1"]}}]},
    "vector_store_ids": {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
    "container": {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]},
    "container.id": {"container": {"id": "container_1"}},
    "skills": {"container": {"skills": [{"type": "anthropic", "skill_id": "pptx"}]}},
    "skill_id": {"tools": [{"environment": {"reference": {"skill_id": "s_1"}}}]},
    "audio.id": {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]},
    "container_id": {"input": [{"type": "code_interpreter_call", "container_id": "cntr_1"}]},
    "cached_content": {"extra_body": {"google": {"cached_content": "cachedContents/1"}}},
    "cachedContent": {"cachedContent": "cachedContents/1"},
    "fileUri": {"contents": [{"parts": [{"fileData": {"fileUri": "https://x/v1beta/files/1"}}]}]},
    "file_uri": {"contents": [{"parts": [{"file_data": {"file_uri": "files/1"}}]}]},
    "fileSearch": {"tools": [{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/1"]}}]},
    "file_search_store_names": {"tools": [{"x": {"file_search_store_names": ["stores/1"]}}]},
    "image_generation_call": {"input": [{"type": "image_generation_call", "id": "ig_1"}]},
}


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_in_the_account_is_refused(name: str) -> None:
    assert refused(STORED[name]).startswith(f"`{name}` names what is stored in the provider's")
    every = tuple(CallFeature)
    nested = {"messages": [{"content": [{"content": [{"source": STORED[name]}]}]}]}
    assert refused(nested, *every).startswith(f"`{name}` names what is stored")


@pytest.mark.parametrize(
    ("fields", "words", "feature"),
    [
        ({"store": True}, "`store` keeps data", CallFeature.STORE),
        ({"mcp_servers": [{"type": "url", "url": "https://x"}]}, "remote MCP", CallFeature.MCP),
        ({"tools": [{"type": "mcp", "server_url": "https://x"}]}, "remote MCP", CallFeature.MCP),
        ({"tools": [{"type": "mcp_toolset"}]}, "remote MCP", CallFeature.MCP),
        ({"tools": [{"mcpServers": [{"name": "x"}]}]}, "remote MCP", CallFeature.MCP),
        (
            {"tools": [{"retrieval": {"vertexAiSearch": {"datastore": "projects/1"}}}]},
            "`retrieval` searches what the account has elsewhere",
            CallFeature.CONNECTORS,
        ),
        (
            {"tools": [{"type": "mcp", "connector_id": "connector_gmail"}]},
            "`connector_id` reaches into",
            CallFeature.CONNECTORS,
        ),
    ],
)
def test_what_the_policy_may_allow(
    fields: dict[str, Any], words: str, feature: CallFeature
) -> None:
    others = tuple(one for one in CallFeature if one is not feature)
    assert words in refused(fields, *others)
    assert refused(fields, feature) == ""


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_more_tokens_than_the_gate_allows(name: str) -> None:
    assert refused({name: 1001}) == f"`{name}` is over 1,000, the most that this gate allows"
    assert refused({name: 1000}) == ""
    assert refused({name: None}) == ""


@pytest.mark.parametrize("name", ["maxOutputTokens", "max_output_tokens"])
@pytest.mark.parametrize("config", ["generationConfig", "generation_config"])
def test_more_tokens_than_the_gate_allows_as_google_has_it(config: str, name: str) -> None:
    assert refused({config: {name: 1001}}).startswith(f"`{name}` is over 1,000")
    assert refused({config: {name: 1000}}) == ""


def test_what_a_function_of_the_agent_is_given_and_gives_is_its_own() -> None:
    call = {"functionCall": {"name": "read", "args": {"file_id": "7", "skills": ["x"]}}}
    result = {"function_response": {"name": "read", "response": {"fileUri": "x", "store": True}}}
    fields = {"contents": [{"role": "model", "parts": [call]}, {"parts": [result]}]}
    assert refused(fields) == ""
    hidden = {"functionResponse": {"name": "f", "parts": [{"fileData": {"fileUri": "files/1"}}]}}
    assert refused({"contents": [{"parts": [hidden]}]}).startswith("`fileUri` names")


def test_a_name_is_found_however_it_is_written() -> None:
    raw = rb'{"input": [{"f\u0069le\u005fid": "file-1"}]}'
    assert refused({}, raw=raw).startswith("`file_id`")


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": "What is a file_id? And mcp? store: true"}]},
        {"store": False, "container": None, "mcp_servers": [], "tools": []},
        {"tools": [{"function": {"parameters": {"properties": {"file_id": {"type": "string"}}}}}]},
        {"tools": [{"name": "f", "input_schema": {"properties": {"skills": {"a": 1}}}}]},
        {"messages": [{"content": [{"type": "tool_use", "input": {"file_id": "of the agent"}}]}]},
        {"response_format": {"json_schema": {"schema": {"required": ["container_id"]}}}},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
        {"audio": {"voice": "alloy", "format": "wav"}, "metadata": {"file_id": "mine"}},
        {"input": [{"type": "image_generation_call", "id": "ig_1", "result": "aGk="}]},
    ],
)
def test_what_is_the_agents_own_goes_through(fields: dict[str, Any]) -> None:
    assert refused(fields) == ""
