"""Replies of Google's models, written against its documentation and not against `gateval.wire`.

A `Call` whose path ends with `:generateContent` and the like belongs here; see `model_server`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.servers.model_server import Answer, Call


def google_reply(
    call: Call,
    text: str = "",
    *,
    tools: Iterable[tuple[str, dict[str, Any]]] = (),
    usage: tuple[int, int] = (10, 5),
) -> Answer:
    """A reply of `generateContent`, as a stream if the path asks for one: a word in each event.

    `tools` are (name, arguments), which get no ids, and a signature that has to come back.
    """
    called: list[dict[str, Any]] = [
        {"functionCall": {"name": name, "args": given}, "thoughtSignature": "c2ln"}
        for name, given in tools
    ]
    thought: dict[str, Any] = {"text": "Let me think.", "thought": True}
    if ":streamGenerateContent" not in call.path:
        said: list[dict[str, Any]] = [{"text": text}] if text else []
        parts = [thought, *said, *called]
        return Answer(body=json.dumps(_frame(parts, "STOP", usage)).encode())
    words = text.split(" ") if text else []
    spoken: list[dict[str, Any]] = [
        {"text": word if at == 0 else f" {word}"} for at, word in enumerate(words)
    ]
    frames = [_frame([part], None, None) for part in (thought, *spoken, *called)]
    frames.append(_frame([{"text": ""}], "STOP", usage))
    return Answer(pieces=tuple(f"data: {json.dumps(frame)}\r\n\r\n".encode() for frame in frames))


def google_failure(status: int, message: str) -> Answer:
    """An error as Google answers it."""
    error = {"code": status, "message": message, "status": "FAILED"}
    return Answer(status, json.dumps({"error": error}).encode())


def google_embeddings(call: Call, vectors: list[list[float]]) -> Answer:
    """A reply of `batchEmbedContents` or `embedContent`."""
    values = [{"values": vector} for vector in vectors]
    many = ":batchEmbedContents" in call.path
    body = {"embeddings": values} if many else {"embedding": values[0]}
    return Answer(body=json.dumps(body).encode())


def _frame(
    parts: list[dict[str, Any]], finish: str | None, usage: tuple[int, int] | None
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    frame: dict[str, Any] = {"candidates": [candidate], "modelVersion": "served-model"}
    if finish:
        candidate["finishReason"] = finish
    if usage:
        given, taken = usage
        frame["usageMetadata"] = {
            "promptTokenCount": given,
            "candidatesTokenCount": taken - 1,
            "thoughtsTokenCount": 1,
            "totalTokenCount": given + taken,
        }
    return frame
