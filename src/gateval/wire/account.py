"""Forbidden parts of a request, because a real key stands behind it: ways into the account, other
people's servers, and more tokens than the gate allows. For every wire format, at every depth.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.gate_config import CallFeature

_STORED = frozenset({
    "file_id", "file_ids", "vector_store_id", "vector_store_ids", "container_id", "skill_id",
    "skills", "cached_content", "cachedContent", "file_uri", "fileUri", "file_search", "fileSearch",
    "file_search_store_names", "fileSearchStoreNames",
})  # fmt: skip
"""Keys that name something stored in the account, wherever they stand."""

_OPAQUE = frozenset({
    "parameters", "parametersJsonSchema", "parameters_json_schema", "responseSchema",
    "response_schema", "responseJsonSchema", "response_json_schema", "input_schema", "json_schema",
    "schema", "arguments", "metadata",
})  # fmt: skip
"""Keys below which stands data of the Agent's own, with names of its own: schemas and arguments."""

_WITH_ID = frozenset({"audio", "voice", "container"})
"""Objects that name something stored in the account by their `id`."""

_OWN_DATA = {
    "functionCall": "args",
    "function_call": "args",
    "functionResponse": "response",
    "function_response": "response",
}
"""Google's function calls and their results, and the key in them that holds the Agent's data."""

_SEARCHES = ("retrieval", "vertexAiSearch", "vertex_ai_search")
"""Google's tools that search what the account has elsewhere."""

_CONFIGS = ("generationConfig", "generation_config")
_MCP_KEYS = ("mcp_servers", "mcpServers")
_MCP_TYPES = frozenset({"mcp", "mcp_toolset"})
_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")

_MOST_TOKENS = 10**9
_ANSWERS = ("n", "candidateCount", "candidate_count")
"""How many answers a request asks for at once."""

UNSAID_OUTPUT = 4_096
"""Tokens that an answer is taken to have, where neither the call nor an earlier one says."""

_MAY_HOLD = re.compile(
    rb"\\u00|_id|file_ids|vector_store|container|skill|cached|audio|voice|mcp|\"store\"|image_gen"
    rb"|file_?[usUS]|retrieval|vertex"
)
"""Bodies without any of this hold nothing that is refused; escapes could hide a name."""

_ALLOWED_BY = "unless policy.gateway.allow of the target branch names"


def refusal(
    body: bytes, fields: JsonObject, *, allow: Collection[CallFeature], max_tokens: int
) -> str:
    """Return why a request is refused, as a clause without a full stop; the empty string if not.

    `fields` are those of `body`. `max_tokens` is what one reply may ask for.
    """
    for part in _with_configs(fields):
        for name in _TOKENS:
            asked = part.get(name)
            if isinstance(asked, int | float) and asked > max_tokens:
                return f"`{name}` is over {max_tokens:,}, the most that this gate allows"
    if not _MAY_HOLD.search(body):
        return ""
    if fields.get("store") and CallFeature.STORE not in allow:
        return f"`store` keeps data in the provider's account, {_ALLOWED_BY} `store`"
    return next((said for part in _objects(fields) if (said := _complaint(part, allow))), "")


def most_tokens(fields: JsonObject) -> int | None:
    """Return how many tokens a request lets be answered, in all answers that it asks for; None if
    it says neither how long they may be nor that it asks for several.
    """
    parts = list(_with_configs(fields))
    asked = [_whole(part.get(name)) for part in parts for name in _TOKENS]
    answers = max(1, *(_whole(part.get(name)) for part in parts for name in _ANSWERS))
    most = max(asked, default=0)
    return answers * (most or UNSAID_OUTPUT) if most or answers > 1 else None


def _whole(value: JsonValue) -> int:
    """A number of a request as a whole one that is not negative; 0 for what is none."""
    return int(value) if isinstance(value, int | float) and 0 <= value < _MOST_TOKENS else 0


def _with_configs(fields: JsonObject) -> Iterator[JsonObject]:
    """The fields of a request, then those of the objects that hold its settings."""
    yield fields
    for name in _CONFIGS:
        config = fields.get(name)
        if isinstance(config, dict):
            yield config


def _objects(fields: JsonObject) -> Iterator[JsonObject]:
    """Every object of a body whose keys are the provider's, the outermost first."""
    waiting: list[JsonValue] = [fields]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            yield value
            is_call = str(value.get("type", "")).endswith("tool_use")
            for key, inner in value.items():
                if key in _OPAQUE or (is_call and key == "input"):
                    continue
                if key in _OWN_DATA and isinstance(inner, dict):
                    own = _OWN_DATA[key]
                    waiting.append({name: one for name, one in inner.items() if name != own})
                else:
                    waiting.append(inner)


def _complaint(part: JsonObject, allow: Collection[CallFeature]) -> str:
    if stored := _stored(part):
        return (
            f"`{stored}` names what is stored in the provider's account, which this gateway keeps "
            "closed; send the content itself"
        )
    if part.get("connector_id") and CallFeature.CONNECTORS not in allow:
        return f"`connector_id` reaches into the account's connectors, {_ALLOWED_BY} `connectors`"
    search = next((name for name in _SEARCHES if part.get(name)), "")
    if search and CallFeature.CONNECTORS not in allow:
        return f"`{search}` searches what the account has elsewhere, {_ALLOWED_BY} `connectors`"
    is_mcp = str(part.get("type")) in _MCP_TYPES and not part.get("connector_id")
    is_mcp = is_mcp or any(part.get(name) for name in _MCP_KEYS)
    if is_mcp and CallFeature.MCP not in allow:
        return f"a remote MCP server is called from the provider's side, {_ALLOWED_BY} `mcp`"
    return ""


def _stored(part: JsonObject) -> str:
    """The key by which an object names something in the account; empty if it does not."""
    for key, value in part.items():
        if key in _STORED and value:
            return key
        if key in _WITH_ID and isinstance(value, dict) and value.get("id"):
            return f"{key}.id"
        if key == "container" and isinstance(value, str) and value:
            return key
    if part.get("type") == "image_generation_call" and not part.get("result"):
        return "image_generation_call"
    return ""
