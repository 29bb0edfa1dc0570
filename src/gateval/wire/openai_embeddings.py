"""OpenAI Embeddings, spoken by OpenAI and by most compatible servers.

Format: https://platform.openai.com/docs/api-reference/embeddings. Official clients ask for the
vectors in base64, as 32-bit floats with the lowest byte first.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import InputKind, InputReply, InputRequest, Usage
from gateval.wire import openai_chat
from gateval.wire.base import (
    WireError,
    as_count,
    as_list,
    as_object,
    as_text,
    counted,
    decoder,
    error_text,
    read_object,
    text_or_empty,
    vector_in,
    with_model,
    write_json,
)

kind = InputKind.EMBEDDING
base_path = "/v1"
path = "/embeddings"
headers = openai_chat.headers
encode_error = openai_chat.encode_error
decode_error = error_text
for_model = with_model


def encode_request(request: InputRequest) -> bytes:
    """Write a request; see `InputFormat`."""
    if request.is_tokens:
        raise WireError("`input` holds tokens in place of texts")
    body: JsonObject = {"model": request.model, "input": [*request.texts]}
    return write_json(body | ({"dimensions": request.dimensions} if request.dimensions else {}))


@decoder("request")
def decode_request(body: bytes) -> InputRequest:
    """Read a request; see `InputFormat`. Tokens stand as numbers in the place of words."""
    fields = read_object(body)
    given = fields.get("input")
    items: list[JsonValue] = given if isinstance(given, list) else [given]
    if items and all(_is_number(item) for item in items):
        items = [items]
    is_tokens = any(isinstance(item, list) for item in items)
    texts = [
        " ".join(map(str, item)) if isinstance(item, list) else as_text(item, "`input`")
        for item in items
    ]
    return InputRequest(
        model=as_text(fields.get("model"), "`model`"),
        texts=counted(texts),
        dimensions=as_count(fields.get("dimensions")),
        is_tokens=is_tokens,
    )


def encode_reply(reply: InputReply, request: InputRequest, fields: JsonObject) -> bytes:
    """Write a reply; see `InputFormat`."""
    packed = fields.get("encoding_format") == "base64"
    data: list[JsonValue] = [
        {"object": "embedding", "index": index, "embedding": _packed(one) if packed else [*one]}
        for index, one in enumerate(reply.vectors)
    ]
    body: JsonObject = {"object": "list", "data": data, "model": reply.model or request.model}
    used = reply.usage.input_tokens if reply.usage else None
    if used is not None:
        body["usage"] = {"prompt_tokens": used, "total_tokens": used}
    return write_json(body)


@decoder("reply")
def decode_reply(body: bytes) -> InputReply:
    """Read a reply; see `InputFormat`."""
    fields = read_object(body)
    items = [as_object(item, "an embedding") for item in as_list(fields.get("data"), "`data`")]
    if not items:
        raise WireError("a reply without embeddings")
    usage = fields.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return InputReply(
        vectors=[_vector(item.get("embedding")) for item in items],
        usage=Usage(input_tokens=as_count(counts.get("prompt_tokens")), output_tokens=0),
        model=text_or_empty(fields.get("model")),
    )


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _vector(value: JsonValue) -> list[float]:
    if not isinstance(value, str):
        return vector_in(value)
    try:
        packed = base64.b64decode(value, validate=True)
        return [*struct.unpack(f"<{len(packed) // 4}f", packed)]
    except (ValueError, struct.error):
        raise WireError("an embedding that is no base64 of numbers")
