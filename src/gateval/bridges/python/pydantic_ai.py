"""Agents of Pydantic AI; the messages of a run are the history of the next."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Runs the agent. Dependencies are made of their type, if that takes nothing."""

    def __init__(self, target: Any) -> None:
        self._agent = target
        self._messages: list[Any] = []

    async def ask(self, question: Any) -> Any:
        """Return the output."""
        if question.first:
            self._messages = _history(question)
        more: dict[str, Any] = {}
        kind = getattr(self._agent, "deps_type", type(None))
        if kind not in (type(None), object, None):
            more["deps"] = _dependencies(kind, question)
        result = await self._agent.run(
            question.asked, message_history=self._messages or None, **more
        )
        self._messages = list(result.all_messages())
        return result.output


def _dependencies(kind: Any, question: Any) -> Any:
    try:
        return kind()
    except Exception as error:
        raise question.refusal(
            f"the agent needs dependencies of the type `{getattr(kind, '__name__', kind)}`, which "
            f"cannot be made without arguments ({error}). Point `target` at a function that takes "
            "the question, makes them and runs the agent"
        )


def _history(question: Any) -> list[Any]:
    from pydantic_ai import messages

    found: list[Any] = []
    for role, text in question.spoken():
        if role == "assistant":
            found.append(messages.ModelResponse(parts=[messages.TextPart(content=text)]))
        else:
            kind = messages.SystemPromptPart if role == "system" else messages.UserPromptPart
            found.append(messages.ModelRequest(parts=[kind(content=text)]))
    return found
