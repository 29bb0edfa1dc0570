"""Agents of smolagents, which remember between runs unless they are reset."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Runs the agent; messages from before the first question stand before it as text."""

    def __init__(self, target: Any) -> None:
        self._agent = target

    def ask(self, question: Any) -> Any:
        """Return the final answer."""
        if question.first:
            return _said(self._agent.run(question.transcript(), reset=True))
        return _said(self._agent.run(question.asked, reset=False))


def _said(result: Any) -> Any:
    return result.output if type(result).__name__ == "RunResult" else result
