"""The runtime `model`: a declarative Agent, whose models, system prompt and tools the gate runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from gateval.candidates.agent_loop.conversation import Called, Conversation
from gateval.candidates.agent_loop.servers import ServerFault, Servers, running_servers
from gateval.candidates.base import Runtime, RuntimeContext, TrialRequest
from gateval.candidates.playground.made import in_playground
from gateval.candidates.process.processes import Programs
from gateval.candidates.serving.launch import Launch, prepare_launch
from gateval.candidates.talk import Talk, converse
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.fixtures.messages import Content
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.text.quoting import is_blank
from gateval.domain.trials.model_call import ModelReply
from gateval.domain.trials.tools import ToolAnswer
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.ports.model_calls import LATE, ModelCallError, ModelCallFault, hangs, waited_sentence

_Ask: TypeAlias = Callable[[Conversation, Servers | None], Awaitable[Answer | NoAnswer]]

_NO_MODEL = "The Agent names no model; add `spec.models`, or a `spec.runtime` that starts it."

TURN_LIMIT = 50
"""Replies of the model in one trial."""


class ModelRuntime(Runtime):
    """The built-in agent loop. Tools are replayed or shadowed, but for those of MCP servers."""

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self._launch: Launch | None = None
        self._slowest: dict[str, float] = {}

    async def prepare(self) -> NoAnswer | None:
        """Set up what servers of tools work in; without a model there is nobody to ask."""
        if not self.agent.models:
            return NoAnswer(cause=Cause.CANDIDATE, reason=_NO_MODEL)
        if not self.agent.runtime.servers:
            return None
        programs = Programs(self.context.clock, self.context.starter)
        launch = await prepare_launch(self, programs)
        if isinstance(launch, NoAnswer):
            return launch
        self._launch = launch
        return None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Converse until the model answers without calling a tool."""
        return await self._beside(
            request,
            lambda talk, live: self.say(talk, live, request.input.asked, request.timeout_seconds),
        )

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Go on with the model's own messages and tool results."""
        return await self._beside(
            request,
            lambda talk, live: converse(_GoingOn(self, talk, live), request, self.context.clock),
        )

    async def _beside(self, request: TrialRequest, ask: _Ask) -> Answer | NoAnswer:
        """Have `ask` converse while the servers of the agent's tools run."""
        if self._launch is None:
            return await ask(Conversation(self.agent, request), None)
        try:
            launch = in_playground(self._launch, self._launch.addresses, request.playground)
            async with running_servers(launch) as servers:
                talk = Conversation(self.agent, request, servers.tools)
                return await ask(talk, servers)
        except ServerFault as fault:
            return fault.silence

    async def say(
        self, talk: Conversation, live: Servers | None, content: Content, seconds: float
    ) -> Answer | NoAnswer:
        """Say this as the user and return what the model answers within so many seconds.

        `live` answers the calls that the fixture leaves to servers.
        """
        clock = self.context.clock
        talk.hear_user(content)
        began = clock.monotonic()
        reason, cause, late, lasting, endless = "", Cause.CANDIDATE, False, False, False
        try:
            async with asyncio.timeout(seconds) as limit:
                reply = await self._converse(talk, live)
            if reply is None:
                endless, reason = True, f"The agent did not finish in {TURN_LIMIT} turns."
            elif is_blank(reply.text):
                reason = f"The model ended without an answer (stop reason: {reply.stop})."
            else:
                trace, spent = talk.trace(), max(clock.monotonic() - began, 0.0)
                return Answer(
                    output=reply.text,
                    trace=trace,
                    usage=trace.usage,
                    seconds=spent,
                    calls=talk.calls,
                )
        except ModelCallError as error:
            reason, cause, lasting = error.message, error.cause, error.lasting
        except ServerFault as fault:
            spent = max(clock.monotonic() - began, 0.0)
            return fault.silence.model_copy(update={"trace": talk.trace(), "seconds": spent})
        except TimeoutError as gone:
            if not limit.expired():
                raise
            reason, late = f"The agent was not done within {seconds:g} s.", True
            notes = getattr(gone.__cause__, "__notes__", ())  # how its latest try went
            if talk.waited:
                reason, cause = f"{waited_sentence(talk.waited)} {reason}", Cause.PROVIDER
            if notes or self._hangs(talk, seconds):
                reason, cause = " ".join((LATE, *notes, reason)), Cause.PROVIDER
        return NoAnswer(
            cause=cause,
            reason=reason,
            timed_out=late,
            lasting=lasting,
            endless=endless,
            trace=talk.trace(),
            calls=talk.calls,
            seconds=max(clock.monotonic() - began, 0.0),
        )

    def _hangs(self, talk: Conversation, seconds: float) -> bool:
        """Whether the model was late, not the agent: the call under way took more than half of the
        time, or much longer than its model ever did.
        """
        if talk.asked_at is None:
            return False
        waited = self.context.clock.monotonic() - talk.asked_at
        return waited > seconds / 2 or hangs(waited, self._slowest.get(talk.asked), late=True)

    async def close(self) -> None:
        """Kill servers that still run."""
        if self._launch is not None:
            await self._launch.programs.close()

    async def _converse(self, talk: Conversation, live: Servers | None) -> ModelReply | None:
        """Return the first reply without tool calls, or None after too many turns.

        A model that is out is not asked again in this trial; the next one takes over.
        """
        models = list(self.agent.models)
        for _ in range(TURN_LIMIT):
            reply = await self._ask(talk, models)
            calls = talk.hear(models[0], reply)
            if not calls:
                return reply
            talk.give(calls, [await _answered(talk, one, live) for one in calls])
            if talk.due:
                talk.asked_at = None
                await asyncio.sleep(talk.due)
        return None

    async def _ask(self, talk: Conversation, models: list[str]) -> ModelReply:
        while True:
            model = models[0]
            talk.asked, talk.asked_at = model, self.context.clock.monotonic()
            try:
                reply = await self.context.calls.call(
                    model, talk.request(model), side=self.agent.side
                )
                self._slowest[model] = max(reply.seconds or 0.0, self._slowest.get(model, 0.0))
                return reply
            except ModelCallError as error:
                talk.failed(error)
                if error.fault is not ModelCallFault.OUTAGE or len(models) == 1:
                    raise
                models.pop(0)


class _GoingOn(Talk):
    def __init__(self, runtime: ModelRuntime, talk: Conversation, live: Servers | None) -> None:
        self._runtime = runtime
        self._conversation = talk
        self._live = live

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Say what is new: the conversation knows the rest."""
        return await self._runtime.say(self._conversation, self._live, asked.asked, seconds)


async def _answered(talk: Conversation, called: Called, live: Servers | None) -> ToolAnswer:
    answer = talk.answer_to(called)
    if answer is None and live is not None:
        return await live.call(called.call.name, called.arguments)
    return answer or ToolAnswer("Nobody answers for this tool.", is_error=True)
