"""The trace of a black-box agent, read off its calls of models and of the gate's tools."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from gateval.domain.base import JsonObject
from gateval.domain.results.doubts.cut_off import cut_off_note
from gateval.domain.trials.model_call import Message, ModelReply, ModelRequest, ToolCall, Usage
from gateval.domain.trials.trace import NO_CALL, CallCost, StepKind, Trace, TraceBuilder, add_usage
from gateval.gateway.local.recording.conversations import Conversations
from gateval.gateway.local.recording.fingerprints import Fingerprints, fingerprints_of
from gateval.gateway.tools.served import ServedTools


class TraceRecorder:
    """Builds one trace from the successive model calls of one trial.

    An agent sends its whole history with every call. What continues a conversation seen before
    gives steps only for what is new. A history that differs from all of them starts another
    conversation, in which messages that are known already give no second step. Each step bears the
    number of its conversation: agents that work side by side are told apart by it.

    Tool calls and results in the history that a conversation begins with, up to its last user
    message, are context (examples, an earlier session) that nobody did in this trial: no steps.
    System prompts are no steps either. A reply's call of a tool that its request did not offer
    counts as refused.
    """

    def __init__(self) -> None:
        self._builder = TraceBuilder()
        self._served = ServedTools(self._builder)
        self._conversations = Conversations()
        self._usages: list[Usage] = []
        self._models: dict[str, None] = {}
        self._tools: dict[str, str] = {}
        self._made: set[str] = set()
        self._empty = True
        self._replies = self._measured = 0

    def reply(self, model: str, request: ModelRequest, reply: ModelReply) -> None:
        """Record that `model` (`provider/model-id`) answered `request` with `reply`."""
        said = Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        number = self._add_history(request, [fingerprints_of(said)])
        self._made.update(call.id for call in reply.tool_calls)
        cost = CallCost(reply.seconds, reply.retries)
        if said.text or not said.tool_calls:
            self._builder.add(StepKind.ASSISTANT, said.text, cost=cost, conversation=number)
        if note := cut_off_note(model, reply.stop):
            self._builder.add(StepKind.ERROR, note, conversation=number)
        offered = {tool.name for tool in request.tools}
        self._add_calls(said.tool_calls, number, cost, offered)
        self._usages.append(reply.usage)
        self._replies += 1
        self._models[model] = None

    def measured(self, model: str, usage: Usage | None) -> None:
        """Record that `model` measured texts: no step, but tokens, if that costs any.

        By itself it makes no trace: it tells nothing of what the agent said and did.
        """
        if usage is not None:
            self._usages.append(usage)
        self._measured += 1
        self._models[model] = None

    def error(self, request: ModelRequest | None, message: str, cost: CallCost = NO_CALL) -> None:
        """Record that a call failed; `request` is None if it could not even be read."""
        number = 1 if request is None else self._add_history(request, [])
        self._builder.add(StepKind.ERROR, message, cost=cost, conversation=number)
        self._empty = False

    def tool(
        self,
        name: str,
        arguments: JsonObject,
        text: str,
        known: Collection[str],
        *,
        streaming: bool,
    ) -> None:
        """Record that the gate answered a call of a tool with `text`; see `ServedTools.arrived`."""
        self._empty = False
        self._served.arrived(name, arguments, text, known, streaming=streaming)

    def trace(self) -> Trace | None:
        """Return the trace so far, or None when no call was made.

        `model_calls` counts the calls that were answered.
        """
        if self._empty:
            return None
        return Trace(
            steps=self._builder.steps(),
            source="gateway",
            usage=add_usage(self._usages),
            model_calls=self._replies + self._measured,
            models=tuple(self._models),
        )

    def _add_history(self, request: ModelRequest, answer: list[Fingerprints]) -> int:
        """Add steps for what is new in a request; remember it with its answer's fingerprints.

        Return the number of its conversation.
        """
        self._empty = False
        messages = [message for message in request.messages if message.role != "system"]
        history = [fingerprints_of(message) for message in messages]
        match = self._conversations.match(history)
        for message in messages:
            self._tools.update({call.id: call.name for call in message.tool_calls})
        users = [index for index, message in enumerate(messages) if message.role == "user"]
        context = 0 if match.continues else max(users, default=0)
        for index in match.new:
            acted = index >= context or messages[index].tool_call_id in self._made
            self._add(messages[index], match.number, acted=acted)
        self._conversations.remember([*history, *answer], match.number)
        return match.number

    def _add(self, message: Message, number: int, *, acted: bool) -> None:
        add = partial(self._builder.add, conversation=number)
        if message.role == "user":
            add(StepKind.USER, message.text)
        elif message.role == "assistant":
            if message.text:
                add(StepKind.ASSISTANT, message.text)
            self._add_calls(message.tool_calls if acted else (), number, NO_CALL)
        elif acted:
            call_id = message.tool_call_id or None
            if self._served.is_told(call_id, message.text):
                return
            tool = self._tools.get(call_id or "")
            add(StepKind.TOOL_RESULT, message.text, tool=tool, call_id=call_id)

    def _add_calls(
        self,
        calls: tuple[ToolCall, ...],
        number: int,
        cost: CallCost,
        offered: set[str] | None = None,
    ) -> None:
        """Add a step for each call, refused where `offered` is known and names no such tool."""
        for call in calls:
            is_offered = offered is None or call.by_provider or call.name in offered
            self._tools[call.id] = call.name
            if self._served.claims(call, said=offered is not None):
                continue
            step = self._builder.add(
                StepKind.TOOL_CALL,
                call.raw or "",
                tool=call.name,
                arguments=call.arguments,
                call_id=call.id or None,
                cost=cost,
                refused=not is_offered,
                conversation=number,
            )
            if offered is not None:
                self._served.wished(step, call)
