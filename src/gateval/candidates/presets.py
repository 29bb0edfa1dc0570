"""How servers of known protocols are asked: path and body of a question for each. Pure.

What they answer with is read by `answer_streams`. Every question has ids of its own, so that no
server takes it for more of a conversation that it remembers, but one that is to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.messages import text_of
from gateval.domain.strict_json import list_of, value_at

_VERSION = re.compile(r"[0-9.]{1,20}")

CARDS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""Where an A2A server has its card: since version 0.3, and before it."""


class PresetError(ValueError):
    """Why a server cannot be asked by its protocol, as a clause."""


class Asked(NamedTuple):
    """What is asked: the input, an id of this question, and that of a conversation which the server
    remembers, "" where it is told all of it.
    """

    input: FixtureInput
    name: str
    conversation: str = ""

    @property
    def said(self) -> list[tuple[str, str]]:
        """Who said what, this question last."""
        told = [(one.role.value, text_of(one.content)) for one in self.input.messages]
        return told or [("user", self.input.prompt)]

    @property
    def plain(self) -> list[JsonValue]:
        """The same as most protocols have it."""
        return [{"role": role, "content": text} for role, text in self.said]

    @property
    def alone(self) -> str:
        """The question, for a protocol that has no place for what was said before. Raises
        `PresetError` where something was.
        """
        if len(self.input.messages) > 1:
            raise PresetError(
                "this protocol has no place for what was said before; let the server remember it "
                "(`conversation: process`), or write `path` and `body` without `preset`"
            )
        return self.input.prompt


class ProtocolPreset(NamedTuple):
    """A protocol: where its servers are asked unless the manifest says, and what they answer with
    (`answer_streams`). `body` makes the question; A2A has none, because the card of the agent says
    which version it speaks.
    """

    path: str
    stream: str
    body: Callable[[Asked], JsonObject] | None = None
    headers: Mapping[str, str] = {}


def _aisdk(asked: Asked) -> JsonObject:
    told: list[JsonValue] = [
        {
            "id": f"{asked.name}-{number}",
            "role": role,
            "content": text,
            "parts": [{"type": "text", "text": text}],
        }
        for number, (role, text) in enumerate(asked.said, 1)
    ]
    name = asked.conversation or asked.name
    return {"id": name, "messages": told, "trigger": "submit-message"}


def _openai(asked: Asked) -> JsonObject:
    return {"model": "agent", "messages": asked.plain, "stream": True}


def _responses(asked: Asked) -> JsonObject:
    return {"model": "agent", "input": asked.plain, "stream": True}


def _anthropic(asked: Asked) -> JsonObject:
    told: list[JsonValue] = [
        {"role": role, "content": text} for role, text in asked.said if role != "system"
    ]
    system = "\n\n".join(text for role, text in asked.said if role == "system")
    own: JsonObject = {"system": system} if system else {}
    return {"model": "agent", "max_tokens": 4096, "messages": told, "stream": True, **own}


def _ag_ui(asked: Asked) -> JsonObject:
    told: list[JsonValue] = [
        {"id": f"{asked.name}-{number}", "role": role, "content": text}
        for number, (role, text) in enumerate(asked.said, 1)
    ]
    name = asked.conversation or asked.name
    around: JsonObject = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    return {"threadId": name, "runId": asked.name, "messages": told, **around}


def _chatkit(asked: Asked) -> JsonObject:
    if asked.conversation:
        raise PresetError("`preset: chatkit` begins a thread with each question")
    content: list[JsonValue] = [{"type": "input_text", "text": asked.alone}]
    said: JsonObject = {"content": content, "attachments": [], "inference_options": {}}
    return {"type": "threads.create", "params": {"input": said}}


def _langserve(asked: Asked) -> JsonObject:
    if not asked.conversation:
        return {"input": asked.alone}
    ids: JsonObject = {"session_id": asked.conversation, "thread_id": asked.conversation}
    return {"input": asked.alone, "config": {"configurable": ids}}


PRESETS: Mapping[str, ProtocolPreset] = {
    "aisdk": ProtocolPreset("/api/chat", "aisdk", _aisdk),
    "openai": ProtocolPreset("/v1/chat/completions", "openai", _openai),
    "openai-responses": ProtocolPreset("/v1/responses", "openai", _responses),
    "anthropic": ProtocolPreset(
        "/v1/messages", "anthropic", _anthropic, {"anthropic-version": "2023-06-01"}
    ),
    "ag-ui": ProtocolPreset("/", "ag-ui", _ag_ui),
    "chatkit": ProtocolPreset("/chatkit", "chatkit", _chatkit),
    "langserve": ProtocolPreset("/stream", "langserve", _langserve),
    "a2a": ProtocolPreset("", "a2a"),
}
"""The protocols by the names that manifests have for them."""


class A2aQuestion(NamedTuple):
    """Where and how the agent of a card is asked."""

    path: str
    headers: Mapping[str, str]
    body: JsonObject


def a2a_question(card: JsonValue, asked: Asked) -> A2aQuestion:
    """Return the question for the agent of this card, streamed if it can do that.

    Raises `PresetError`.
    """
    url, version = _interface(card)
    capable = value_at(card, "capabilities")
    streams = isinstance(capable, dict) and capable.get("streaming") is True
    parts: list[JsonValue] = [{"text": asked.alone}]
    message: JsonObject = {"messageId": asked.name, "role": "ROLE_USER", "parts": parts}
    params: JsonObject = {"message": message}
    method, headers = "SendStreamingMessage" if streams else "SendMessage", {"A2A-Version": version}
    if version.startswith("0"):
        told: list[JsonValue] = [{"kind": "text", "text": asked.alone}]
        message |= {"kind": "message", "role": "user", "parts": told}
        params["configuration"] = {"blocking": True, "acceptedOutputModes": ["text/plain"]}
        method, headers = "message/stream" if streams else "message/send", {}
    if asked.conversation:
        message["contextId"] = asked.conversation
    body: JsonObject = {"jsonrpc": "2.0", "id": asked.name, "method": method, "params": params}
    try:
        address = urlsplit(url)
    except ValueError:
        raise PresetError("the agent card's address for JSON-RPC is none") from None
    path = f"/{address.path.lstrip('/')}" + (f"?{address.query}" if address.query else "")
    return A2aQuestion(path, headers, body)


def _interface(card: JsonValue) -> tuple[str, str]:
    """Return the address at which an agent takes JSON-RPC, and the version that it speaks there.
    Only the path of the address counts: the server is the one that the gate started.
    """
    if not isinstance(card, dict):
        raise PresetError("the agent card is no JSON object")
    found = []
    for key in ("supportedInterfaces", "additionalInterfaces"):
        for one in list_of(card, key):
            kind = one.get("protocolBinding", one.get("transport")) if isinstance(one, dict) else ""
            if isinstance(one, dict) and kind == "JSONRPC":
                found.append((one.get("url"), one.get("protocolVersion")))
    if card.get("preferredTransport", "JSONRPC") == "JSONRPC":
        found.append((card.get("url"), card.get("protocolVersion")))
    plain = [(url, _VERSION.fullmatch(str(version))) for url, version in found]
    known = [(url, said[0] if said else "0.3") for url, said in plain if isinstance(url, str)]
    if not known:
        raise PresetError("the agent card names no address for JSON-RPC, which the gate speaks")
    return max(known, key=lambda one: one[1].startswith("1"))
