"""The runtime `model`: a declarative Agent, whose models, system prompt and tools the gate runs."""

from __future__ import annotations

import asyncio

from gateval.candidates.agent_loop.conversation import Conversation
from gateval.candidates.base import Runtime, TrialRequest
from gateval.candidates.talk import Talk, converse
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.messages import Content
from gateval.domain.trials.model_call import ModelReply
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.ports.model_calls import LATE, ModelCallError, ModelCallFault, waited_sentence

TURN_LIMIT = 50
"""Replies of the model in one trial."""


class ModelRuntime(Runtime):
    """The built-in agent loop. No tool is live: each is replayed or shadowed."""

    async def prepare(self) -> NoAnswer | None:
        """Nothing to start; but without a model there is nobody to ask."""
        if self.agent.models:
            return None
        reason = "The Agent names no model; add `spec.models`, or a `spec.runtime` that starts it."
        return NoAnswer(cause=Cause.CANDIDATE, reason=reason)

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Converse until the model answers without calling a tool."""
        talk = Conversation(self.agent, request)
        return await self.say(talk, request.input.asked, request.timeout_seconds)

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Go on with the model's own messages and tool results."""
        talk = _GoingOn(self, Conversation(self.agent, request))
        return await converse(talk, request, self.context.clock)

    async def say(self, talk: Conversation, content: Content, seconds: float) -> Answer | NoAnswer:
        """Say this as the user and return what the model answers within so many seconds."""
        clock = self.context.clock
        talk.hear_user(content)
        began = clock.monotonic()
        reason, cause, late = "", Cause.CANDIDATE, False
        try:
            async with asyncio.timeout(seconds) as limit:
                reply = await self._converse(talk)
            if reply is None:
                reason = f"The agent did not finish in {TURN_LIMIT} turns."
            elif not reply.text.strip():
                reason = f"The model ended without an answer (stop reason: {reply.stop})."
            else:
                return _answer(reply, talk, max(clock.monotonic() - began, 0.0))
        except ModelCallError as error:
            reason, cause = error.message, error.cause
        except TimeoutError as gone:
            if not limit.expired():
                raise
            reason, late = f"The agent was not done within {seconds:g} s.", True
            notes = getattr(gone.__cause__, "__notes__", ())  # how its latest try went
            if talk.waited:
                reason, cause = f"{waited_sentence(talk.waited)} {reason}", Cause.PROVIDER
            if notes or self._waited_long(talk, seconds):
                reason, cause = " ".join((LATE, *notes, reason)), Cause.PROVIDER
        return NoAnswer(
            cause=cause,
            reason=reason,
            timed_out=late,
            trace=talk.trace(),
            seconds=max(clock.monotonic() - began, 0.0),
        )

    def _waited_long(self, talk: Conversation, seconds: float) -> bool:
        """Whether one call took more than half of the time: the model was late, not the agent."""
        if talk.asked_at is None:
            return False
        waited = self.context.clock.monotonic() - talk.asked_at
        return waited > seconds / 2

    async def close(self) -> None:
        """Nothing of it runs between trials."""

    async def _converse(self, talk: Conversation) -> ModelReply | None:
        """Return the first reply without tool calls, or None after too many turns.

        A model that is out is not asked again in this trial; the next one takes over.
        """
        import asyncio

        models = list(self.agent.models)
        for _ in range(TURN_LIMIT):
            reply = await self._ask(talk, models)
            if not talk.hear(models[0], reply):
                return reply
            if talk.due:
                talk.asked_at = None
                await asyncio.sleep(talk.due)
        return None

    async def _ask(self, talk: Conversation, models: list[str]) -> ModelReply:
        while True:
            model = models[0]
            talk.asked_at = self.context.clock.monotonic()
            try:
                return await self.context.calls.call(
                    model, talk.request(model), side=self.agent.side
                )
            except ModelCallError as error:
                talk.note(error.message, error.cost)
                if error.fault is not ModelCallFault.OUTAGE or len(models) == 1:
                    raise
                models.pop(0)


class _GoingOn(Talk):
    def __init__(self, runtime: ModelRuntime, conversation: Conversation) -> None:
        self._runtime = runtime
        self._conversation = conversation

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Say what is new: the conversation knows the rest."""
        return await self._runtime.say(self._conversation, asked.asked, seconds)


def _answer(reply: ModelReply, talk: Conversation, seconds: float) -> Answer:
    trace = talk.trace()
    return Answer(output=reply.text, trace=trace, usage=trace.usage, seconds=seconds)
