"""A conversation with a candidate, one turn after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.messages import InputMessage, Role
from gateval.domain.trials.trial import Answer, NoAnswer
from gateval.domain.trials.turns import Turns

if TYPE_CHECKING:
    from gateval.candidates.base import Runtime, TrialRequest


class Talk(ABC):
    """One trial's conversation. Its maker closes it, however it ended."""

    @abstractmethod
    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Have the candidate answer within so many seconds.

        `asked.prompt` is what the user says now, `asked.messages` all that was said, this included.
        The trace holds what is new.
        """

    async def close(self) -> None:  # noqa: B027 - most have nothing of their own
        """End what runs for this conversation alone."""


class EachAnew(Talk):
    """Each turn is a trial of its own to the candidate, which is told all messages again."""

    def __init__(self, runtime: Runtime, request: TrialRequest) -> None:
        self._runtime = runtime
        self._request = request

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Ask with the history in `messages`."""
        return await self._runtime.answer(
            replace(self._request, input=asked, turns=(), timeout_seconds=seconds)
        )


async def converse(runtime: Runtime, request: TrialRequest) -> Answer | NoAnswer:
    """Have the candidate answer the turns of `request`, which share its time.

    The first turn without an answer ends the conversation.
    """
    clock, turns = runtime.context.clock, Turns()
    began, before = clock.monotonic(), request.input.messages
    talk = runtime.talk(request)
    try:
        for number, text in enumerate(request.turns, 1):
            asked = request.input.said(before, text)
            left = request.timeout_seconds - (clock.monotonic() - began)
            given = await talk.say(asked, max(round(left, 2), 0.01))
            if isinstance(given, NoAnswer):
                return _in_turn(given, number, len(request.turns), turns)
            turns.add(asked, given)
            said = InputMessage(role=Role.ASSISTANT, content=given.output)
            before = (*asked.messages, said)
    finally:
        await talk.close()
    return turns.answer()


def _in_turn(given: NoAnswer, number: int, count: int, turns: Turns) -> NoAnswer:
    reason = f"In turn {number} of {count}: {given.reason}"
    return given.model_copy(update={"reason": reason, "trace": turns.trace(given.trace)})
