"""Model calls that answer from a list: a real `ports.model_calls.ModelCalls`, without a model."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

from pydantic import JsonValue

from gateval.domain.trials.model_call import ModelReply, ModelRequest, StopReason, ToolCall, Usage
from gateval.domain.trials.trial import Side
from gateval.ports.model_calls import ModelCallError, ModelCallFault

Turn = ModelReply | ModelCallError | float
"""A reply, a failure, or seconds to wait before the turn after it."""


class ScriptedCalls:
    """Gives the turns one after the other and keeps what it was asked, with the model's name.

    After the last turn it repeats that one, if `forever`; else it is out of turns and says so.
    """

    def __init__(self, turns: Iterable[Turn] = (), *, forever: bool = False) -> None:
        self._turns = deque(turns)
        self._forever = forever
        self.asked: list[tuple[str, ModelRequest, Side]] = []

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        self.asked.append((model, request, side))
        turn = self._next()
        while isinstance(turn, float):
            await asyncio.sleep(turn)
            turn = self._next()
        if isinstance(turn, ModelCallError):
            raise turn
        return turn

    def _next(self) -> Turn:
        if not self._turns:
            raise ModelCallError(ModelCallFault.UNCONFIGURED, "The script has no further turn.")
        return self._turns[0] if self._forever and len(self._turns) == 1 else self._turns.popleft()


def says(text: str, *, tokens: tuple[int, int] | None = (10, 5)) -> ModelReply:
    """A final answer, with input and output tokens."""
    return ModelReply(text=text, usage=_usage(tokens))


def calls(*wanted: tuple[str, dict[str, JsonValue]], text: str = "") -> ModelReply:
    """A reply that calls tools: (name, arguments) each; ids are `call-1`, `call-2`, ..."""
    made = tuple(
        ToolCall(id=f"call-{index}", name=name, arguments=arguments)
        for index, (name, arguments) in enumerate(wanted, start=1)
    )
    return ModelReply(text=text, tool_calls=made, stop=StopReason.TOOL_CALLS, usage=_usage((10, 5)))


def outage(message: str = "The provider is down.") -> ModelCallError:
    """A provider that does not answer after all retries."""
    return ModelCallError(ModelCallFault.OUTAGE, message)


def _usage(tokens: tuple[int, int] | None) -> Usage:
    if tokens is None:
        return Usage()
    return Usage(input_tokens=tokens[0], output_tokens=tokens[1])
