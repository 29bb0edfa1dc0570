"""Agents and teams of AutoGen's AgentChat, which keep what was said."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Runs the agent or the team; what was said before it stands before the first question."""

    def __init__(self, target: Any) -> None:
        self._target = target

    async def ask(self, question: Any) -> Any:
        """Return the text of the last message that says more than that the run ends."""
        asked = question.transcript() if question.first else question.asked
        result = await self._target.run(task=asked)
        chat = [one for one in result.messages if _is_said(one)]
        texts = [one.to_text() for one in chat[1:]]  # the first is the question
        content = getattr(chat[-1], "content", None)
        if hasattr(content, "model_dump"):
            return content
        return next((one for one in reversed(texts) if one.replace("TERMINATE", "").strip()), "")


def _is_said(message: Any) -> bool:
    """Whether this is a message of the conversation, and no event such as a call of a tool."""
    return any(one.__name__ == "BaseChatMessage" for one in type(message).__mro__)
