"""When two messages of two requests are the same message, sent again."""

from __future__ import annotations

from gateval.domain.base import JsonObject, canonical_json, digest
from gateval.domain.trials.model_call import Message, ToolCall

Fingerprints = frozenset[str]
"""Two messages are the same when they share a fingerprint."""


def fingerprints_of(message: Message) -> Fingerprints:
    """Return what a message is known by. Agents alter what they send again, so it takes little.

    A tool result is known by the id of its call, as old results get shortened. An assistant
    message with tool calls is known by their ids or by their names and arguments, as its text may
    get lost and ids rewritten. Everything else is known by its text with white space folded.
    """
    if message.role == "tool" and message.tool_call_id:
        return frozenset({f"result {message.tool_call_id}"})
    if message.tool_calls:
        names = digest([call_fingerprint(call) for call in message.tool_calls])
        ids = [call.id for call in message.tool_calls if call.id]
        known_by_id = {f"ids {digest([*ids])}"} if ids else set()
        return frozenset({f"calls {names}", *known_by_id})
    return frozenset({f"{message.role} {digest(' '.join(message.text.split()))}"})


def is_users(fingerprints: Fingerprints) -> bool:
    """Whether they are those of a user's message."""
    return all(fingerprint.startswith("user ") for fingerprint in fingerprints)


def call_fingerprint(call: ToolCall) -> str:
    """Return a tool call's name and arguments as one text."""
    given: JsonObject = {"raw": call.raw} if call.raw is not None else call.arguments
    return f"{call.name} {canonical_json(given)}"
