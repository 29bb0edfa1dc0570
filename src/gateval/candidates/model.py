"""The runtime `model`: a declarative Agent, and the loop of messages and tools that the gate
runs for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from gateval.candidates.base import Runtime, RuntimeContext, TrialRequest, converse
from gateval.candidates.mcp_servers import ServerFault, Servers, running_servers
from gateval.candidates.playground_state import in_playground
from gateval.candidates.processes import Programs
from gateval.candidates.server import Launch, prepare_launch
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.manifests.messages import (
    Content,
    FilePart,
    InputMessage,
    Part,
    Role,
    files_in,
    parts_of,
    text_of,
)
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.results.doubts import cut_off_note
from gateval.domain.strict_json import DEPTH_LIMIT
from gateval.domain.text import is_blank
from gateval.domain.trials.model_call import (
    SAID_LIMIT,
    CallsMade,
    Message,
    MessageFile,
    ModelReply,
    ModelRequest,
    OffersOfTrial,
    RefusedBy,
    ToolCall,
    ToolDefinition,
    Usage,
)
from gateval.domain.trials.trace import (
    NO_CALL,
    CallCost,
    Replay,
    StepKind,
    ToolAnswer,
    Trace,
    TraceBuilder,
    add_usage,
    offered_tools,
)
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.ports.model_calls import LATE, ModelCallError, ModelCallFault, hangs, waited_sentence


def message_of(said: InputMessage) -> Message:
    """Return a message of a fixture as a model is told it."""
    calls = tuple(
        ToolCall(id=one.id, name=one.tool, arguments=one.arguments) for one in said.tool_calls
    )
    told = _said(said.role, said.content)
    return told.replace(tool_calls=calls, tool_call_id=said.tool_call_id)


def _said(role: Role, content: Content) -> Message:
    parts = tuple(map(_part, parts_of(content))) if any(files_in(content)) else ()
    return Message.of_known(role=role.value, text=text_of(content), parts=parts)


def _part(said: Part) -> str | MessageFile:
    if not isinstance(said, FilePart) or said.content is None:
        return said.shown
    found, is_image = said.content, said.type == "image"
    return MessageFile(
        name=found.name, media_type=found.media_type, is_image=is_image, data=found.data
    )


def usable(call: ToolCall) -> tuple[JsonObject, str]:
    """Return the arguments, and the raw text where there are none that can be used."""
    if call.raw is not None:
        return {}, call.raw or "(nothing)"
    if _too_deep(call.arguments):
        return {}, f"(nested more than {DEPTH_LIMIT} levels deep)"
    return call.arguments, ""


def _too_deep(value: JsonValue) -> bool:
    """Whether a results file with this in it could not be read back."""
    layer: list[JsonValue] = [value]
    for _ in range(DEPTH_LIMIT):
        held = [one for one in layer if isinstance(one, dict | list)]
        layer = [i for one in held for i in (one.values() if isinstance(one, dict) else one)]
    return any(isinstance(item, dict | list) for item in layer)


class Called(NamedTuple):
    """A call that the model made: its arguments, or the raw text where there are none to use."""

    call: ToolCall
    arguments: JsonObject
    raw: str


class ModelConversation:
    """Grows turn by turn. Does no I/O.

    `asked_at` is when the call under way began (seconds of the clock), None between calls; `asked`
    is the model of the latest. `waited` are the seconds in which providers were waited for that had
    refused or dropped a call; `due` the seconds that tools take which are to be waited for before
    the next request.
    """

    def __init__(
        self,
        agent: AgentDefinition,
        request: TrialRequest,
        declared: Sequence[ToolDefinition],
        served: Sequence[ToolDefinition] = (),
    ) -> None:
        """Begin; `declared` are the Agent's own tools, `served` those of servers, which answer what
        the fixture does not.
        """
        self.asked = ""
        self.asked_at: float | None = None
        self._draw = f"{request.key.side}:{request.key.repetition}"
        self._caller = request.caller
        self.waited = 0.0
        self.due = 0.0
        names = {tool.name for tool in declared}
        self._served = frozenset(tool.name for tool in served) - names
        self._tools = (*declared, *(tool for tool in served if tool.name in self._served))
        self._replay = Replay(request.tool_replay, request.shadow_tools)
        self._builder = TraceBuilder()
        self._usages: list[Usage] = []
        self._models: dict[str, None] = {}
        self._offers = OffersOfTrial()
        self._latest: ModelRequest | None = None
        self._failed: list[ModelCallError] = []
        before = request.input.messages if request.turns else request.input.messages[:-1]
        self._messages = [message_of(one) for one in before]
        if agent.system:
            self._messages.insert(0, Message(role="system", text=agent.system))

    def hear_user(self, content: Content) -> None:
        """Take what the user says; the trace begins anew with it."""
        said = _said(Role.USER, content)
        self._builder, self._usages, self._models = TraceBuilder(), [], {}
        self._failed = []
        self.waited = 0.0
        self._messages.append(said)
        self._builder.add(StepKind.USER, said.text)

    def request(self, model: str) -> ModelRequest:
        """The next request, to `model` (`provider/model-id`)."""
        name, messages = model.partition("/")[2], tuple(self._messages)
        self._latest = ModelRequest.of_known(
            model=name,
            draw=self._draw,
            caller=self._caller,
            messages=messages,
            tools=self._tools,
        )
        return self._latest

    def hear(self, model: str, reply: ModelReply) -> Sequence[Called]:
        """Take a reply of `model`, and return its tool calls, which have to be answered."""
        self._offers.add(model, self._latest or self.request(model))
        self._usages.append(reply.usage)
        self._models[model] = None
        cost = CallCost(reply.seconds, reply.retries)
        self.waited += reply.waited
        if reply.text:
            self._builder.add(StepKind.ASSISTANT, reply.text, cost=cost)
        if note := cut_off_note(model, reply.stop):
            self.note(note)
        said = Message.of_known(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        self._messages.append(said)
        calls = [Called(call, *usable(call)) for call in reply.tool_calls]
        offered = {definition.name for definition in self._tools}
        for call, arguments, raw in calls:
            self._builder.add(
                StepKind.TOOL_CALL,
                raw,
                tool=call.name,
                arguments=arguments,
                call_id=call.id,
                cost=cost,
                refused=call.name not in offered,
            )
        return calls

    def answer_to(self, called: Called) -> ToolAnswer | None:
        """Return what the fixture (or the gate) answers, None where a server has to."""
        tool, names = called.call.name, [definition.name for definition in self._tools]
        if tool not in names:
            offered = ", ".join(names) or "none"
            return ToolAnswer(f"There is no tool {tool!r}. Tools: {offered}.", is_error=True)
        if called.raw:
            return ToolAnswer("The arguments are no usable JSON object.", is_error=True)
        if tool in self._served and not self._replay.knows(tool):
            return None
        return self._replay.answer(tool, called.arguments)

    def give(self, calls: Sequence[Called], answers: Sequence[ToolAnswer]) -> None:
        """Tell the model what each of its calls gave."""
        for (call, _, _), said in zip(calls, answers, strict=True):
            self._builder.add(StepKind.TOOL_RESULT, said.text, tool=call.name, call_id=call.id)
            self._messages.append(
                Message(role="tool", text=said.text, tool_call_id=call.id, is_error=said.is_error)
            )
        self.due = max((answer.delay for answer in answers), default=0.0)

    def note(self, text: str, cost: CallCost = NO_CALL) -> None:
        """Record something that went wrong on the way as an error step."""
        self._builder.add(StepKind.ERROR, text, cost=cost)
        self.waited += cost.waited

    def failed(self, error: ModelCallError) -> None:
        """Record that a call of a model failed."""
        self._failed.append(error)
        self.note(error.message, error.cost)

    @property
    def calls(self) -> CallsMade:
        """What became of the model calls since the user last spoke."""
        answered = len(self._usages)
        if not self._failed:
            asked = max(answered, int(self.asked_at is not None))
            return CallsMade.of_known(made=asked, answered=answered)
        outages = [one for one in self._failed if one.cause is not Cause.CANDIDATE]
        last = (outages or self._failed)[-1]
        made = CallsMade(made=answered + len(self._failed), answered=answered)
        return made.replace(
            refused_by=RefusedBy.OUTAGE if outages else RefusedBy.PROVIDER,
            status=last.status,
            said=" ".join(last.message.split())[:SAID_LIMIT],
        )

    def trace(self) -> Trace:
        """The trace since the user last spoke."""
        return Trace.of_known(
            steps=self._builder.steps(),
            usage=add_usage(self._usages),
            model_calls=len(self._usages),
            models=tuple(self._models),
            waited=round(self.waited, 3),
            offered=self._offers.found(),
        )


Given: TypeAlias = Answer | NoAnswer
_Ask: TypeAlias = Callable[[ModelConversation, Servers | None], Awaitable[Given]]

_NO_MODEL = "The Agent names no model; add `spec.models`, or a `spec.runtime` that starts it."

TURN_LIMIT = 50
"""Replies of the model in one trial."""


class ModelRuntime(Runtime):
    """The built-in agent loop. Tools are replayed or shadowed, but for those of MCP servers."""

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self._launch: Launch | None = None
        self._slowest: dict[str, float] = {}
        self._declared = offered_tools(agent.tools)

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
        asked, seconds = request.input.asked, request.timeout_seconds
        return await self._beside(request, lambda talk, live: self.say(talk, live, asked, seconds))

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Go on with the model's own messages and tool results."""
        clock = self.context.clock

        def ask(conversation: ModelConversation, live: Servers | None) -> Awaitable[Given]:
            def say(asked: FixtureInput, seconds: float) -> Awaitable[Given]:
                return self.say(conversation, live, asked.asked, seconds)  # it knows the rest

            return converse(say, request, clock)

        return await self._beside(request, ask)

    async def _beside(self, request: TrialRequest, ask: _Ask) -> Answer | NoAnswer:
        """Have `ask` converse while the servers of the agent's tools run."""
        if self._launch is None:
            return await ask(ModelConversation(self.agent, request, self._declared), None)
        try:
            launch = in_playground(self._launch, self._launch.addresses, request.playground)
            async with running_servers(launch) as servers:
                conversation = ModelConversation(self.agent, request, self._declared, servers.tools)
                return await ask(conversation, servers)
        except ServerFault as fault:
            return fault.silence

    async def say(
        self,
        conversation: ModelConversation,
        live: Servers | None,
        content: Content,
        seconds: float,
    ) -> Answer | NoAnswer:
        """Say this as the user and return what the model answers within so many seconds. `live`
        answers the calls that the fixture leaves to servers.
        """
        clock = self.context.clock
        conversation.hear_user(content)
        began = clock.monotonic()

        def spent() -> float:
            return max(clock.monotonic() - began, 0.0)

        reason, cause, late, lasting, endless = "", Cause.CANDIDATE, False, False, False
        try:
            async with asyncio.timeout(seconds) as limit:
                reply = await self._converse(conversation, live)
            if reply is None:
                endless, reason = True, f"The agent did not finish in {TURN_LIMIT} turns."
            elif is_blank(reply.text):
                reason = f"The model ended without an answer (stop reason: {reply.stop})."
            else:
                trace, calls = conversation.trace(), conversation.calls
                told = {"output": reply.text, "trace": trace, "usage": trace.usage}
                return Answer.of_known(**told, seconds=spent(), calls=calls)
        except ModelCallError as error:
            reason, cause, lasting = error.message, error.cause, error.lasting
        except ServerFault as fault:
            told = {"trace": conversation.trace(), "seconds": spent()}
            return fault.silence.model_copy(update=told)
        except TimeoutError as gone:
            if not limit.expired():
                raise
            reason, late = f"The agent was not done within {seconds:g} s.", True
            notes = getattr(gone.__cause__, "__notes__", ())  # how its latest try went
            if conversation.waited:
                reason, cause = f"{waited_sentence(conversation.waited)} {reason}", Cause.PROVIDER
            if notes or self._hangs(conversation, seconds):
                reason, cause = " ".join((LATE, *notes, reason)), Cause.PROVIDER
        return NoAnswer(
            cause=cause,
            reason=reason,
            timed_out=late,
            lasting=lasting,
            endless=endless,
            trace=conversation.trace(),
            calls=conversation.calls,
            seconds=spent(),
        )

    def _hangs(self, conversation: ModelConversation, seconds: float) -> bool:
        """Whether the model was late, not the agent: the call under way took more than half of the
        time, or much longer than its model ever did.
        """
        if conversation.asked_at is None:
            return False
        waited = self.context.clock.monotonic() - conversation.asked_at
        return waited > seconds / 2 or hangs(
            waited, self._slowest.get(conversation.asked), late=True
        )

    async def close(self) -> None:
        """Kill servers that still run."""
        if self._launch is not None:
            await self._launch.programs.close()

    async def _converse(
        self, conversation: ModelConversation, live: Servers | None
    ) -> ModelReply | None:
        """Return the first reply without tool calls, or None after too many turns. A model that is
        out is not asked again in this trial; the next one takes over.
        """
        models = list(self.agent.models)
        for _ in range(TURN_LIMIT):
            reply = await self._ask(conversation, models)
            calls = conversation.hear(models[0], reply)
            if not calls:
                return reply
            conversation.give(calls, [await _answered(conversation, one, live) for one in calls])
            if conversation.due:
                conversation.asked_at = None
                await asyncio.sleep(conversation.due)
        return None

    async def _ask(self, conversation: ModelConversation, models: list[str]) -> ModelReply:
        while True:
            model = models[0]
            conversation.asked, conversation.asked_at = model, self.context.clock.monotonic()
            try:
                reply = await self.context.calls.call(
                    model, conversation.request(model), side=self.agent.side
                )
                self._slowest[model] = max(reply.seconds or 0.0, self._slowest.get(model, 0.0))
                return reply
            except ModelCallError as error:
                conversation.failed(error)
                if error.fault is not ModelCallFault.OUTAGE or len(models) == 1:
                    raise
                models.pop(0)


async def _answered(
    conversation: ModelConversation, called: Called, live: Servers | None
) -> ToolAnswer:
    answer = conversation.answer_to(called)
    if answer is None and live is not None:
        return await live.call(called.call.name, called.arguments)
    return answer or ToolAnswer("Nobody answers for this tool.", is_error=True)
