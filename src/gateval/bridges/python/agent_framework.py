"""Agents and workflows of the Microsoft Agent Framework, in a session or thread of their own."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Runs the agent; a workflow is run anew for each question."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._session: Any = None

    async def ask(self, question: Any) -> Any:
        """Return the text of the response, or its value where the agent has a format for it."""
        if "Workflow" in {one.__name__ for one in type(self._target).__mro__}:
            outputs = (await self._target.run(question.transcript())).get_outputs()
            return _said(outputs[-1]) if outputs else None
        if self._session is None:
            make = getattr(self._target, "create_session", None) or self._target.get_new_thread
            self._session = make()
        by = "session" if hasattr(self._target, "create_session") else "thread"
        text = question.transcript() if question.first else question.asked
        return _said(await self._target.run(text, **{by: self._session}))


def _said(result: Any) -> Any:
    value = getattr(result, "value", None)
    if value is not None and hasattr(result, "text"):
        return value
    if isinstance(result, list) and result:
        result = result[-1]
    text = getattr(result, "text", None)
    return result if text is None else text
