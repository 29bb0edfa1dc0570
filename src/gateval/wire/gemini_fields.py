"""What Google's formats share. They are protocol buffers as JSON: each key may stand in camel case
or with underscores, and both are read.
"""

from __future__ import annotations

import re

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.wire.base import WireError, as_list, as_object, as_text, text_or_empty, write_json

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
"""Names of models that are nobody's own: `tunedModels/…` belong to an account."""

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def headers(key: str | None) -> dict[str, str]:
    """Return the key in Google's header, or nothing."""
    return {"x-goog-api-key": key} if key else {}


def pick(fields: JsonObject, name: str) -> JsonValue:
    """Return the value of a key that is given in camel case, in either spelling."""
    if name in fields:
        return fields[name]
    return fields.get(re.sub(r"[A-Z]", lambda upper: f"_{upper[0].lower()}", name))


def model_id(model: str) -> str:
    """Return a model's id, which goes into the address. Raises `WireError` if it is none."""
    if not _MODEL.fullmatch(model):
        raise WireError(f'"{model[:80]}" is no name of a model of Google\'s')
    return model


def without_model(fields: JsonObject, model: str) -> JsonObject:
    """Return a body whose address names `model`. Raises `WireError`."""
    model_id(model)
    return {key: value for key, value in fields.items() if key not in {"model", "stream"}}


def part_text(part: JsonObject) -> str:
    """Return the text of a part, or a placeholder for what is no text."""
    if "text" in part:
        return as_text(part["text"], "the text of a part")
    data = pick(part, "inlineData") or pick(part, "fileData")
    if isinstance(data, dict):
        kind = text_or_empty(pick(data, "mimeType")).partition("/")[0]
        return f"[{kind}]" if kind in {"image", "audio", "video"} else "[file]"
    return f"[{next(iter(part), 'nothing')[:40]}]"


def texts_in(content: JsonValue, where: str) -> list[str]:
    """Return the texts of a `Content`, or of a mere string; none for null. Raises `WireError`."""
    if content is None or isinstance(content, str):
        return [content] if content else []
    parts = as_list(as_object(content, where).get("parts"), "`parts`")
    return [part_text(as_object(part, "a part")) for part in parts]


def joined(content: JsonValue) -> str:
    """Return the text of a `Content` as a whole. Raises `WireError`."""
    return "\n".join(texts_in(as_object(content, "`content`"), "`content`"))


def encode_error(status: int, message: str) -> bytes:
    """Write an error; see `Format`."""
    word = _STATUSES.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    return write_json({"error": {"code": status, "message": message, "status": word}})
