"""Agents of Strands, which keep their messages, and their swarms and graphs."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Asks the agent; messages from before the first question stand before it as text."""

    def __init__(self, target: Any) -> None:
        self._agent = target

    async def ask(self, question: Any) -> Any:
        """Return the text of the last message, of a swarm or a graph that of its last agent."""
        keeps = hasattr(self._agent, "messages") and not question.first
        asked = question.asked if keeps else question.transcript()
        result = await self._agent.invoke_async(asked)
        while getattr(result, "results", None):
            result = list(result.results.values())[-1].result
        return str(result).strip()
