"""Google's `embedContent`: the vector of one text.

Format: https://ai.google.dev/api/embeddings.
"""

from __future__ import annotations

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import InputKind, InputReply, InputRequest
from gateval.wire import gemini as gemini_fields
from gateval.wire.base import (
    WireError,
    as_object,
    as_text,
    counted,
    decoder,
    error_text,
    read_object,
    vector_in,
    write_json,
)
from gateval.wire.gemini import joined, model_id, without_model
from gateval.wire.gemini_embeddings import dimensions_in, usage_in

kind = InputKind.EMBEDDING
base_path = "/v1beta"
path = "/models/{model}:embedContent"
headers = gemini_fields.headers
encode_error = gemini_fields.encode_error
decode_error = error_text
for_model = without_model


def encode_request(request: InputRequest) -> bytes:
    """Write a request; see `InputFormat`."""
    if len(request.texts) != 1 or request.is_tokens:
        raise WireError("one text is asked for at a time")
    model_id(request.model)
    body: JsonObject = {"content": {"parts": [{"text": request.texts[0]}]}}
    more: JsonObject = {"outputDimensionality": request.dimensions} if request.dimensions else {}
    return write_json(body | more)


@decoder("request")
def decode_request(body: bytes) -> InputRequest:
    """Read a request; see `InputFormat`."""
    fields = read_object(body)
    return InputRequest(
        model=as_text(fields.get("model"), "`model`"),
        texts=counted([joined(fields.get("content"))]),
        dimensions=dimensions_in(fields),
    )


def encode_reply(reply: InputReply, _request: InputRequest, _fields: JsonObject) -> bytes:
    """Write a reply; see `InputFormat`."""
    return write_json({"embedding": {"values": [*reply.vectors[0]]}})


@decoder("reply")
def decode_reply(body: bytes) -> InputReply:
    """Read a reply; see `InputFormat`."""
    fields = read_object(body)
    vector = vector_in(as_object(fields.get("embedding"), "`embedding`").get("values"))
    return InputReply(vectors=[vector], usage=usage_in(fields))
