"""A conversation with a candidate, one turn after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.fixtures.messages import InputMessage, Role
from gateval.domain.trials.transcript import Turns
from gateval.domain.trials.trial import Answer, NoAnswer

if TYPE_CHECKING:
    from gateval.candidates.base import TrialRequest
    from gateval.ports.clock import Clock


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


Ask = Callable[["TrialRequest"], Awaitable[Answer | NoAnswer]]


class EachAnew(Talk):
    """Each turn is a trial of its own to the candidate, which is told all messages again."""

    def __init__(self, request: TrialRequest, ask: Ask) -> None:
        self._request = request
        self._ask = ask

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Ask with the history in `messages`."""
        return await self._ask(
            replace(self._request, input=asked, turns=(), timeout_seconds=seconds)
        )


async def converse(talk: Talk, request: TrialRequest, clock: Clock) -> Answer | NoAnswer:
    """Have the candidate answer the turns of `request`, which share its time; close `talk`.

    The first turn without an answer ends the conversation.
    """
    turns, began, before = Turns(), clock.monotonic(), request.input.messages
    try:
        for number, turn in enumerate(request.turns, 1):
            asked = request.input.said(before, turn)
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
    calls = given.calls if given.calls and given.calls.unanswered else turns.calls(given.calls)
    told = {"reason": reason, "trace": turns.trace(given.trace), "calls": calls}
    return given.model_copy(update=told)
