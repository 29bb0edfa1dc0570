"""The replies of one trial that a later request may continue by their id."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.trials.model_call import Message, ModelReply, ModelRequest
from gateval.wire.base import WireError


class _Stored(NamedTuple):
    """A reply, with what led to it since the stored reply before."""

    before: str
    messages: tuple[Message, ...]


class StoredReplies:
    """Remembers the conversations of one trial, each reply with the one that it continues.

    Only these may be continued. The provider knows others, of other trials and other people.
    """

    def __init__(self) -> None:
        self._replies: dict[str, _Stored] = {}

    def whole(self, request: ModelRequest) -> ModelRequest:
        """Return `request` with the conversation that it continues. Raises `WireError` if no reply
        of this trial has that id.
        """
        pieces: list[tuple[Message, ...]] = []
        before = request.continues
        while before:
            stored = self._replies.get(before)
            if stored is None:
                raise WireError(
                    f'"{before[:80]}" is no response that was stored in this trial (one with '
                    "`store` set to false is not)"
                )
            pieces.append(stored.messages)
            before = stored.before
        if not pieces:
            return request
        history = tuple(message for piece in reversed(pieces) for message in piece)
        system = tuple(one for one in request.messages if one.role == "system")
        said = tuple(one for one in request.messages if one.role != "system")
        messages = (*system, *history, *said)
        return request.model_copy(update={"messages": messages, "continues": ""})

    def remember(self, request: ModelRequest, reply: ModelReply) -> None:
        """Keep a reply to `request` (as it came, without what it continues)."""
        if not reply.id or reply.id in self._replies:
            return
        said = Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        asked = (message for message in request.messages if message.role != "system")
        self._replies[reply.id] = _Stored(request.continues, (*asked, said))
