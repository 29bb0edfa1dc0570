"""What is said to one server in one trial: a question, or the turns of a conversation."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from gateval.candidates.base import TrialRequest
from gateval.candidates.serving.asking import ServerAnswer, ask
from gateval.candidates.serving.instance import Instance
from gateval.candidates.serving.options import HttpOptions
from gateval.candidates.talk import Talk
from gateval.domain.manifests.agent import ConversationMode
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.trial import Answer, Cause, NoAnswer


class Exchange:
    """Questions to one instance, until one is not answered in order. `heard` is the last."""

    def __init__(self, instance: Instance, options: HttpOptions) -> None:
        self._instance = instance
        self._options = options
        self.heard: ServerAnswer | None = None

    async def ask(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask once more; a server that has ended is not asked."""
        if self.heard and (self.heard.dead or not self.heard.whole):
            reason = "The server that this conversation was with has ended."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        self.heard = await ask(self._instance, self._options, request)
        return self.heard.given


class Turning(Talk):
    """A conversation with one instance, which remembers it or is told all messages again."""

    def __init__(self, exchange: Exchange, request: TrialRequest, mode: ConversationMode) -> None:
        self._exchange = exchange
        self._request = request
        self._mode = mode
        self._name = uuid4().hex

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Ask what the user says now; a server that remembers knows it by `conversation`."""
        if self._mode is ConversationMode.PROCESS:
            payload = {"conversation": self._name, **asked.payload}
            told = asked.told_once(first=self._exchange.heard is None)
            asked = told.model_copy(update={"payload": payload})
        return await self._exchange.ask(
            replace(self._request, input=asked, turns=(), timeout_seconds=seconds)
        )
