"""Workflows and agents of LlamaIndex, in a context of their own; its chat and query engines."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Runs the workflow; one that is a class is instantiated first."""

    def __init__(self, target: Any) -> None:
        self._target = target() if isinstance(target, type) else target
        self._kinds = {one.__name__ for one in type(self._target).__mro__}
        self._context: Any = None
        self._memory: Any = None  # of agents, which a context alone does not carry on

    async def ask(self, question: Any) -> Any:
        """Return what the workflow ends with; of agents, what they say."""
        if "Workflow" not in self._kinds:
            return await self._engine(question)
        handler = self._target.run(ctx=self._context, **self._given(question))
        result = await handler
        self._context = handler.ctx
        self._memory = await handler.ctx.store.get("memory", default=None)
        return _said(result)

    async def _engine(self, question: Any) -> str:
        if hasattr(self._target, "achat"):
            if question.first and question.history:
                return str(await self._target.achat(question.asked, chat_history=_chat(question)))
            return str(await self._target.achat(question.asked))
        return str(await self._target.aquery(question.transcript()))

    def _given(self, question: Any) -> dict[str, Any]:
        """Return what the start event takes."""
        kind = self._target.start_event_class
        fields = dict(getattr(kind, "model_fields", None) or {})
        if (
            "user_msg" in fields
            or "AgentWorkflow" in self._kinds
            or "BaseWorkflowAgent" in self._kinds
        ):
            told: dict[str, Any] = {"user_msg": question.asked}
            if question.first and question.history:
                told["chat_history"] = _chat(question)
            elif self._memory is not None:
                told["memory"] = self._memory
            return told
        if not fields:  # the plain StartEvent, which takes any
            text = question.transcript() if question.first else question.asked
            usual = dict.fromkeys(
                ("prompt", "query", "question", "input", "message", "topic"), text
            )
            return {**usual, **question.payload}
        needed = [name for name, field in fields.items() if field.is_required()]
        return dict(question.filled(needed or list(fields)[:1], "the workflow's start event"))


def _chat(question: Any) -> list[Any]:
    from llama_index.core.llms import ChatMessage

    return [ChatMessage(role=role, content=text) for role, text in question.spoken()]


def _said(result: Any) -> Any:
    if getattr(result, "structured_response", None) is not None:
        return result.structured_response
    response = getattr(result, "response", None)
    if response is not None and hasattr(response, "content"):
        return response.content or ""
    fields = getattr(result, "result", None) if type(result).__name__ == "StopEvent" else None
    return result if fields is None else fields
