"""Formats in which texts are measured: embeddings and moderations of OpenAI, and of compatible
servers; Google's `batchEmbedContents` for several texts, and `embedContent` for one.

Formats: https://platform.openai.com/docs/api-reference/embeddings and `/moderations`,
https://ai.google.dev/api/embeddings. Official clients of OpenAI ask for vectors in base64, as
32-bit floats with the lowest byte first. A moderation costs no tokens, and may leave out the model.
Each of Google's batched requests names the model once more; it is the one of the address that
counts, and what the first text asks of its vector, all ask.
"""

from __future__ import annotations

import base64
import struct

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.strict_json import object_of, string_of, value_at
from gateval.domain.trials.model_call import InputKind, InputReply, InputRequest, Usage
from gateval.wire.base import (
    InputFormat,
    WireError,
    as_count,
    as_object,
    as_text,
    object_in,
    objects_in,
    part_text,
    present,
    text_in,
    write_json,
)
from gateval.wire.gemini import GoogleFormat, model_id, pick, texts_in

DEFAULT_MODERATION = "omni-moderation-latest"
CATEGORIES = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit",
    "illicit/violent", "self-harm", "self-harm/instructions", "self-harm/intent", "sexual",
    "sexual/minors", "violence", "violence/graphic",
)  # fmt: skip
"""What a moderation looks for."""


class _OpenAiEmbeddings(InputFormat):
    kind = InputKind.EMBEDDING
    path = "/embeddings"

    def encode_request(self, request: InputRequest) -> bytes:
        if request.is_tokens:
            raise WireError("`input` holds tokens in place of texts")
        size = request.dimensions or None
        return write_json(present(model=request.model, input=[*request.texts], dimensions=size))

    def request_in(self, fields: JsonObject) -> InputRequest:
        """Tokens stand as numbers in the place of words."""
        items = _listed(fields.get("input"))
        if items and all(isinstance(item, int) and not isinstance(item, bool) for item in items):
            items = [items]
        texts = [
            " ".join(map(str, item)) if isinstance(item, list) else as_text(item, "`input`")
            for item in items
        ]
        return InputRequest(
            model=text_in(fields, "model"),
            texts=tuple(texts),
            dimensions=as_count(fields.get("dimensions")),
            is_tokens=any(isinstance(item, list) for item in items),
        )

    def encode_reply(self, reply: InputReply, request: InputRequest, fields: JsonObject) -> bytes:
        data: list[JsonValue] = []
        for index, one in enumerate(reply.vectors):
            vector: JsonValue = [*one]
            if fields.get("encoding_format") == "base64":
                vector = base64.b64encode(struct.pack(f"<{len(one)}f", *one)).decode()
            data.append({"object": "embedding", "index": index, "embedding": vector})
        body: JsonObject = {"object": "list", "data": data, "model": reply.model or request.model}
        used = reply.usage.input_tokens if reply.usage else None
        if used is not None:
            body["usage"] = {"prompt_tokens": used, "total_tokens": used}
        return write_json(body)

    def reply_in(self, fields: JsonObject) -> InputReply:
        used = as_count(value_at(fields, "usage", "prompt_tokens"))
        items = _items(fields, "data", "an embedding", "embeddings")
        return InputReply(
            vectors=[_vector(item.get("embedding")) for item in items],
            usage=Usage(input_tokens=used, output_tokens=0),
            model=string_of(fields, "model"),
        )


class _OpenAiModerations(InputFormat):
    kind = InputKind.MODERATION
    path = "/moderations"

    def encode_request(self, request: InputRequest) -> bytes:
        return write_json({"model": request.model, "input": [*request.texts]})

    def request_in(self, fields: JsonObject) -> InputRequest:
        """Several parts with a type are one text."""
        items, model = _listed(fields.get("input")), fields.get("model")
        if items and all(isinstance(item, dict) for item in items):
            texts = ["\n".join(part_text(item, "`input`") for item in items)]
        else:
            texts = [as_text(item, "`input`") for item in items]
        name = DEFAULT_MODERATION if model is None else as_text(model, "`model`")
        return InputRequest(model=name, texts=tuple(texts))

    def encode_reply(self, reply: InputReply, request: InputRequest, _fields: JsonObject) -> bytes:
        results: list[JsonValue] = [
            {
                "flagged": bool(flags),
                "categories": {name: name in flags for name in CATEGORIES},
                "category_scores": {name: float(name in flags) for name in CATEGORIES},
                "category_applied_input_types": {
                    name: ["text"] if name in flags else [] for name in CATEGORIES
                },
            }
            for flags in reply.flags
        ]
        model = reply.model or request.model
        return write_json({"id": "modr-gateval", "model": model, "results": results})

    def reply_in(self, fields: JsonObject) -> InputReply:
        flags = []
        for one in _items(fields, "results", "a result", "results"):
            categories = object_in(one, "categories")
            flags.append(frozenset(name for name, found in categories.items() if found is True))
        return InputReply(flags=flags, usage=None, model=string_of(fields, "model"))


class _GeminiEmbeddings(GoogleFormat, InputFormat):
    kind = InputKind.EMBEDDING
    path = "/models/{model}:batchEmbedContents"

    def for_model(self, fields: JsonObject, model: str) -> JsonObject:
        name = f"models/{model_id(model)}"
        return {"requests": [{**one, "model": name} for one in _requests(fields)]}

    def encode_request(self, request: InputRequest) -> bytes:
        if request.is_tokens:
            raise WireError("`input` holds tokens, which Google's models do not understand")
        size = request.dimensions or None
        asked: list[JsonValue] = [_asked(text, size) for text in request.texts]
        return write_json(self.for_model({"requests": asked}, request.model))

    def request_in(self, fields: JsonObject) -> InputRequest:
        requests = _requests(fields)
        return InputRequest(
            model=text_in(fields, "model"),
            texts=tuple(_joined(one.get("content")) for one in requests),
            dimensions=_dimensions(requests[0]) if requests else None,
        )

    def encode_reply(self, reply: InputReply, _request: InputRequest, _fields: JsonObject) -> bytes:
        vectors: list[JsonValue] = [{"values": [*vector]} for vector in reply.vectors]
        return write_json({"embeddings": vectors})

    def reply_in(self, fields: JsonObject) -> InputReply:
        items = _items(fields, "embeddings", "an embedding", "embeddings")
        vectors = [_numbers(item.get("values")) for item in items]
        return InputReply(vectors=vectors, usage=_google_usage(fields))


class _GeminiEmbedding(GoogleFormat, InputFormat):
    kind = InputKind.EMBEDDING
    path = "/models/{model}:embedContent"

    def encode_request(self, request: InputRequest) -> bytes:
        if len(request.texts) != 1 or request.is_tokens:
            raise WireError("one text is asked for at a time")
        model_id(request.model)
        return write_json(_asked(request.texts[0], request.dimensions or None))

    def request_in(self, fields: JsonObject) -> InputRequest:
        return InputRequest(
            model=text_in(fields, "model"),
            texts=(_joined(fields.get("content")),),
            dimensions=_dimensions(fields),
        )

    def encode_reply(self, reply: InputReply, _request: InputRequest, _fields: JsonObject) -> bytes:
        return write_json({"embedding": {"values": [*reply.vectors[0]]}})

    def reply_in(self, fields: JsonObject) -> InputReply:
        vector = _numbers(object_in(fields, "embedding").get("values"))
        return InputReply(vectors=[vector], usage=_google_usage(fields))


openai_embeddings = _OpenAiEmbeddings()
openai_moderations = _OpenAiModerations()
gemini_embeddings = _GeminiEmbeddings()
gemini_embedding = _GeminiEmbedding()


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


def _items(fields: JsonObject, key: str, one: str, many: str) -> list[JsonObject]:
    """Return the objects of a list that has to hold some. Raises `WireError`."""
    items = objects_in(fields, key, one)
    if not items:
        raise WireError(f"a reply without {many}")
    return items


def _vector(value: JsonValue) -> list[float]:
    if not isinstance(value, str):
        return _numbers(value)
    try:
        packed = base64.b64decode(value, validate=True)
        return [*struct.unpack(f"<{len(packed) // 4}f", packed)]
    except (ValueError, struct.error):
        raise WireError("an embedding that is no base64 of numbers")


def _numbers(value: JsonValue) -> list[float]:
    if not isinstance(value, list):
        raise WireError("an embedding that is no list")
    numbers = [float(one) for one in value if isinstance(one, int | float)]
    if len(numbers) != len(value) or not numbers:
        raise WireError("an embedding that is not made of numbers")
    return numbers


def _requests(fields: JsonObject) -> list[JsonObject]:
    return objects_in(fields, "requests", "a request")


def _asked(text: str, size: int | None) -> JsonObject:
    return present(content={"parts": [{"text": text}]}, outputDimensionality=size)


def _joined(content: JsonValue) -> str:
    """Return the text of a `Content` as a whole. Raises `WireError`."""
    return "\n".join(texts_in(as_object(content, "`content`"), "`content`"))


def _dimensions(request: JsonObject) -> int | None:
    """Return how many numbers a request wants: beside the text, or in its configuration."""
    config = object_of(pick(request, "embedContentConfig"))
    return as_count(pick(request, "outputDimensionality") or pick(config, "outputDimensionality"))


def _google_usage(fields: JsonObject) -> Usage:
    """Return the tokens that a reply tells, if it does."""
    used = as_count(pick(object_of(pick(fields, "usageMetadata")), "promptTokenCount"))
    return Usage() if used is None else Usage(input_tokens=used, output_tokens=0)
