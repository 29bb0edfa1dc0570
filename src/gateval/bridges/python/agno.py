"""Agents, teams and workflows of Agno; a conversation is one session."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Runs the agent. Messages from before the first question stand before it as text, and so does
    what was said if it keeps no history.
    """

    def __init__(self, target: Any) -> None:
        self._agent = target

    async def ask(self, question: Any) -> Any:
        """Return the content of the answer."""
        keeps = getattr(self._agent, "db", None) or getattr(self._agent, "storage", None)
        alone = keeps and not question.first
        asked = question.asked if alone else question.transcript()
        result = await self._agent.arun(asked, session_id="gateval")
        last = (getattr(result, "step_results", None) or [None])[-1]
        status = getattr(getattr(result, "status", None), "value", "")
        if status == "ERROR" or getattr(last, "success", True) is False:
            raise RuntimeError(result.content)  # which Agno gives as if it were an answer
        return result.content
