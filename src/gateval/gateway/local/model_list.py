"""The list of models, answered from the manifest in each family's own shape.

A provider's list would tell what the account behind the key may use, so it is not asked.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.gateway.local.call import Reply, error_reply
from gateval.wire.base import Format
from gateval.wire.json_text import write_json
from gateval.wire.registry import FORMATS

_LONG_AGO = "1970-01-01T00:00:00Z"
_METHODS = ["generateContent", "streamGenerateContent", "embedContent", "batchEmbedContents"]


def list_models(names: tuple[str, ...], asked: str, wire: Format) -> Reply:
    """Return the models `names` (`provider/model-id`), or the one that is `asked` for by its name.

    They are called by their bare ids, as a program asks for them. `wire` says in which shape.
    """
    if asked and asked not in names:
        names = tuple(name for name in names if name.partition("/")[2] == asked)
        if not names:
            message = f"The Agent's manifest does not name {asked}; add it to `spec.uses`."
            return error_reply(wire, 404, message)
    elif asked:
        names = (asked,)
    if wire is FORMATS["gemini-content"]:
        return _reply([_google(name) for name in names], asked, {}, "models")
    if wire is FORMATS["anthropic-messages"]:
        listed = [_anthropic(name) for name in names]
        ends = (listed[0]["id"], listed[-1]["id"]) if listed else (None, None)
        more: JsonObject = {"has_more": False, "first_id": ends[0], "last_id": ends[1]}
        return _reply(listed, asked, more, "data")
    return _reply([_openai(name) for name in names], asked, {"object": "list"}, "data")


def _reply(listed: list[JsonObject], asked: str, frame: JsonObject, key: str) -> Reply:
    if asked:
        return Reply(200, write_json(listed[0]))
    items: list[JsonValue] = [*listed]
    return Reply(200, write_json({**frame, key: items}))


def _openai(name: str) -> JsonObject:
    owner, _, model_id = name.partition("/")
    return {"id": model_id, "object": "model", "created": 0, "owned_by": owner}


def _anthropic(name: str) -> JsonObject:
    model_id = name.partition("/")[2]
    return {"type": "model", "id": model_id, "display_name": model_id, "created_at": _LONG_AGO}


def _google(name: str) -> JsonObject:
    model_id = name.partition("/")[2]
    methods: list[JsonValue] = [*_METHODS]
    return {
        "name": f"models/{model_id}",
        "displayName": model_id,
        "supportedGenerationMethods": methods,
    }
