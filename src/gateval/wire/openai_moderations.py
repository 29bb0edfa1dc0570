"""OpenAI Moderations.

Format: https://platform.openai.com/docs/api-reference/moderations. A call costs no tokens, and may
leave out the model.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import InputKind, InputReply, InputRequest
from gateval.wire import openai_chat
from gateval.wire.base import (
    WireError,
    as_list,
    as_object,
    as_text,
    counted,
    decoder,
    error_text,
    part_text,
    read_object,
    text_or_empty,
    with_model,
    write_json,
)

kind = InputKind.MODERATION
base_path = "/v1"
path = "/moderations"
headers = openai_chat.headers
encode_error = openai_chat.encode_error
decode_error = error_text
for_model = with_model

DEFAULT_MODEL = "omni-moderation-latest"
CATEGORIES = (
    "harassment",
    "harassment/threatening",
    "hate",
    "hate/threatening",
    "illicit",
    "illicit/violent",
    "self-harm",
    "self-harm/instructions",
    "self-harm/intent",
    "sexual",
    "sexual/minors",
    "violence",
    "violence/graphic",
)


def encode_request(request: InputRequest) -> bytes:
    """Write a request; see `InputFormat`."""
    return write_json({"model": request.model, "input": [*request.texts]})


@decoder("request")
def decode_request(body: bytes) -> InputRequest:
    """Read a request; see `InputFormat`. Several parts with a type are one text."""
    fields = read_object(body)
    given = fields.get("input")
    items: list[JsonValue] = given if isinstance(given, list) else [given]
    model = fields.get("model")
    if items and all(isinstance(item, dict) for item in items):
        texts = ["\n".join(part_text(item, "`input`") for item in items)]
    else:
        texts = [as_text(item, "`input`") for item in items]
    return InputRequest(
        model=DEFAULT_MODEL if model is None else as_text(model, "`model`"), texts=counted(texts)
    )


def encode_reply(reply: InputReply, request: InputRequest, _fields: JsonObject) -> bytes:
    """Write a reply; see `InputFormat`."""
    results: list[JsonValue] = [_result(flags) for flags in reply.flags]
    model = reply.model or request.model
    return write_json({"id": "modr-gateval", "model": model, "results": results})


def _result(flags: frozenset[str]) -> JsonObject:
    return {
        "flagged": bool(flags),
        "categories": {name: name in flags for name in CATEGORIES},
        "category_scores": {name: float(name in flags) for name in CATEGORIES},
        "category_applied_input_types": {
            name: ["text"] if name in flags else [] for name in CATEGORIES
        },
    }


@decoder("reply")
def decode_reply(body: bytes) -> InputReply:
    """Read a reply; see `InputFormat`."""
    fields = read_object(body)
    results = [as_object(one, "a result") for one in as_list(fields.get("results"), "`results`")]
    if not results:
        raise WireError("a reply without results")
    return InputReply(
        flags=[_flags(one) for one in results],
        usage=None,
        model=text_or_empty(fields.get("model")),
    )


def _flags(result: JsonObject) -> frozenset[str]:
    categories = as_object(result.get("categories"), "`categories`")
    return frozenset(name for name, flagged in categories.items() if flagged is True)
