"""Google's `batchEmbedContents`: vectors for several texts, as `google-genai` asks for them.

Format: https://ai.google.dev/api/embeddings. Each of the requests names the model once more; it is
the one of the address that counts.
"""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import InputKind, InputReply, InputRequest, Usage
from gateval.wire import gemini as gemini_fields
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
    vector_in,
    write_json,
)
from gateval.wire.gemini import joined, model_id, pick

kind = InputKind.EMBEDDING
base_path = "/v1beta"
path = "/models/{model}:batchEmbedContents"
headers = gemini_fields.headers
encode_error = gemini_fields.encode_error
decode_error = error_text


def for_model(fields: JsonObject, model: str) -> JsonObject:
    """Return the body with `model` in each of its requests. Raises `WireError`."""
    name = f"models/{model_id(model)}"
    requests: list[JsonValue] = [{**one, "model": name} for one in _requests(fields)]
    return {"requests": requests}


def encode_request(request: InputRequest) -> bytes:
    """Write a request; see `InputFormat`."""
    if request.is_tokens:
        raise WireError("`input` holds tokens, which Google's models do not understand")
    more: JsonObject = {"outputDimensionality": request.dimensions} if request.dimensions else {}
    requests: list[JsonValue] = [
        {"content": {"parts": [{"text": text}]}, **more} for text in request.texts
    ]
    return write_json(for_model({"requests": requests}, request.model))


@decoder("request")
def decode_request(body: bytes) -> InputRequest:
    """Read a request; see `InputFormat`. What the first text asks of its vector, all ask."""
    fields = read_object(body)
    requests = _requests(fields)
    return InputRequest(
        model=as_text(fields.get("model"), "`model`"),
        texts=counted([joined(one.get("content")) for one in requests]),
        dimensions=dimensions_in(requests[0]),
    )


def encode_reply(reply: InputReply, _request: InputRequest, _fields: JsonObject) -> bytes:
    """Write a reply; see `InputFormat`."""
    vectors: list[JsonValue] = [{"values": [*vector]} for vector in reply.vectors]
    return write_json({"embeddings": vectors})


@decoder("reply")
def decode_reply(body: bytes) -> InputReply:
    """Read a reply; see `InputFormat`."""
    fields = read_object(body)
    items = as_list(fields.get("embeddings"), "`embeddings`")
    if not items:
        raise WireError("a reply without embeddings")
    vectors = [vector_in(as_object(item, "an embedding").get("values")) for item in items]
    return InputReply(vectors=vectors, usage=usage_in(fields))


def usage_in(fields: JsonObject) -> Usage:
    """Return the tokens that a reply tells, if it does."""
    usage = pick(fields, "usageMetadata")
    used = as_count(pick(usage, "promptTokenCount")) if isinstance(usage, dict) else None
    return Usage() if used is None else Usage(input_tokens=used, output_tokens=0)


def dimensions_in(request: JsonObject) -> int | None:
    """Return how many numbers a request wants: beside the text, or in its configuration."""
    config = pick(request, "embedContentConfig")
    inner = config if isinstance(config, dict) else {}
    return as_count(pick(request, "outputDimensionality") or pick(inner, "outputDimensionality"))


def _requests(fields: JsonObject) -> list[JsonObject]:
    return [as_object(one, "a request") for one in as_list(fields.get("requests"), "`requests`")]
