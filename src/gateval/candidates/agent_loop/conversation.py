"""One conversation of the built-in agent: its messages, its tools, and the trace of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.candidates.agent_loop.messages import message_of, usable
from gateval.candidates.base import TrialRequest
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixtures.messages import (
    Content,
    InputMessage,
    Role,
)
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.results.doubts.cut_off import cut_off_note
from gateval.domain.trials.calls import SAID_LIMIT, CallsMade, RefusedBy
from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolDefinition,
    Usage,
)
from gateval.domain.trials.tools import Replay, ToolAnswer, offered_tools
from gateval.domain.trials.trace import NO_CALL, CallCost, StepKind, Trace, TraceBuilder, add_usage
from gateval.domain.trials.trial import Cause
from gateval.ports.model_calls import ModelCallError


class Called(NamedTuple):
    """A call that the model made: its arguments, or the raw text where there are none to use."""

    call: ToolCall
    arguments: JsonObject
    raw: str


class Conversation:
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
        served: Sequence[ToolDefinition] = (),
    ) -> None:
        """Begin; `served` are tools of servers, which answer what the fixture does not."""
        self.asked = ""
        self.asked_at: float | None = None
        self._draw = f"{request.key.side}:{request.key.repetition}"
        self.waited = 0.0
        self.due = 0.0
        declared = offered_tools(agent.tools)
        names = {tool.name for tool in declared}
        self._served = frozenset(tool.name for tool in served) - names
        self._tools = (*declared, *(tool for tool in served if tool.name in self._served))
        self._replay = Replay(request.tool_replay, request.shadow_tools)
        self._builder = TraceBuilder()
        self._usages: list[Usage] = []
        self._models: dict[str, None] = {}
        self._failed: list[ModelCallError] = []
        before = request.input.messages if request.turns else request.input.messages[:-1]
        self._messages = [message_of(one) for one in before]
        if agent.system:
            self._messages.insert(0, Message(role="system", text=agent.system))

    def hear_user(self, content: Content) -> None:
        """Take what the user says; the trace begins anew with it."""
        said = message_of(InputMessage(role=Role.USER, content=content))
        self._builder, self._usages, self._models = TraceBuilder(), [], {}
        self._failed = []
        self.waited = 0.0
        self._messages.append(said)
        self._builder.add(StepKind.USER, said.text)

    def request(self, model: str) -> ModelRequest:
        """The next request, to `model` (`provider/model-id`)."""
        return ModelRequest(
            model=model.partition("/")[2],
            draw=self._draw,
            messages=tuple(self._messages),
            tools=self._tools,
        )

    def hear(self, model: str, reply: ModelReply) -> Sequence[Called]:
        """Take a reply of `model`, and return its tool calls, which have to be answered."""
        self._usages.append(reply.usage)
        self._models[model] = None
        cost = CallCost(reply.seconds, reply.retries)
        self.waited += reply.waited
        if reply.text:
            self._builder.add(StepKind.ASSISTANT, reply.text, cost=cost)
        if note := cut_off_note(model, reply.stop):
            self.note(note)
        self._messages.append(
            Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        )
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
        for called, answer in zip(calls, answers, strict=True):
            self._give(called.call, answer)
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
        made = CallsMade(made=answered + len(self._failed), answered=answered)
        if not self._failed:
            return made.model_copy(update={"made": max(answered, int(self.asked_at is not None))})
        outages = [one for one in self._failed if one.cause is not Cause.CANDIDATE]
        last = (outages or self._failed)[-1]
        return made.model_copy(
            update={
                "refused_by": RefusedBy.OUTAGE if outages else RefusedBy.PROVIDER,
                "status": last.status,
                "said": " ".join(last.message.split())[:SAID_LIMIT],
            }
        )

    def trace(self) -> Trace:
        """The trace since the user last spoke."""
        return Trace(
            steps=self._builder.steps(),
            usage=add_usage(self._usages),
            model_calls=len(self._usages),
            models=tuple(self._models),
            waited=round(self.waited, 3),
        )

    def _give(self, call: ToolCall, answer: ToolAnswer) -> None:
        self._builder.add(StepKind.TOOL_RESULT, answer.text, tool=call.name, call_id=call.id)
        self._messages.append(
            Message(role="tool", text=answer.text, tool_call_id=call.id, is_error=answer.is_error)
        )
