"""Agents of the OpenAI Agents SDK, in a session of its own."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Runs the agent; the next turn is with the agent that had the last word, as in the SDK's own
    examples of handoffs.
    """

    def __init__(self, target: Any) -> None:
        self._agent = target
        self._session: Any = None

    async def ask(self, question: Any) -> Any:
        """Return the final output."""
        from agents import Runner, SQLiteSession

        if self._session is None:
            self._session = SQLiteSession("gateval")
            before = [{"role": role, "content": text} for role, text in question.spoken()]
            if before:
                await self._session.add_items(before)
        result = await Runner.run(self._agent, question.asked, session=self._session)
        self._agent = result.last_agent
        return result.final_output
