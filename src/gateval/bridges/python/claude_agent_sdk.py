"""Agents of the Claude Agent SDK, which are options (`ClaudeAgentOptions`) for its client."""

from __future__ import annotations

from typing import Any


class Bridge:
    """Has one client, in one session."""

    def __init__(self, target: Any) -> None:
        self._options = target
        self._client: Any = None

    async def ask(self, question: Any) -> Any:
        """Return the result, or what the agent said last."""
        from claude_agent_sdk import ClaudeSDKClient

        if self._client is None:
            self._client = ClaudeSDKClient(options=self._options)
            await self._client.connect()
        await self._client.query(question.transcript() if question.first else question.asked)
        said: Any = None
        async for message in self._client.receive_response():
            kind = type(message).__name__
            if kind == "AssistantMessage":
                texts = [one.text for one in message.content if hasattr(one, "text")]
                said = "".join(texts) or said
            elif kind == "ResultMessage":
                if message.is_error:
                    why = message.result or message.subtype
                    raise question.refusal(f"Claude ended with an error: {why}")
                structured = getattr(message, "structured_output", None)
                said = structured if structured is not None else message.result or said
        return said
