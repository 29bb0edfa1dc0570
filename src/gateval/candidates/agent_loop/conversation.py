"""One conversation of the built-in agent: its messages, its tools, and the trace of both."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import JsonValue

from gateval.candidates.base import TrialRequest
from gateval.domain.base import JsonObject
from gateval.domain.manifests.attached import FilePart
from gateval.domain.manifests.messages import (
    Content,
    InputMessage,
    Part,
    Role,
    files_in,
    parts_of,
    text_of,
)
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.text.strict_json import DEPTH_LIMIT
from gateval.domain.trials.model_call import (
    Message,
    MessageFile,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    Usage,
)
from gateval.domain.trials.tools import Replay, ToolAnswer, offered_tools
from gateval.domain.trials.trace import NO_CALL, CallCost, StepKind, Trace, TraceBuilder, add_usage


class Conversation:
    """Grows turn by turn. Does no I/O.

    `asked_at` is when the call under way began (seconds of the clock), None between calls. `waited`
    are the seconds in which providers were waited for that had refused or dropped a call; `due` the
    seconds that tools take which are to be waited for before the next request.
    """

    def __init__(self, agent: AgentDefinition, request: TrialRequest) -> None:
        self.asked_at: float | None = None
        self._draw = f"{request.key.side}:{request.key.repetition}"
        self.waited = 0.0
        self.due = 0.0
        self._tools = offered_tools(agent.tools)
        self._replay = Replay(request.tool_replay, request.shadow_tools)
        self._builder = TraceBuilder()
        self._usages: list[Usage] = []
        self._models: dict[str, None] = {}
        before = request.input.messages if request.turns else request.input.messages[:-1]
        self._messages = [_message(one) for one in before]
        if agent.system:
            self._messages.insert(0, Message(role="system", text=agent.system))

    def hear_user(self, content: Content) -> None:
        """Take what the user says; the trace begins anew with it."""
        said = _message(InputMessage(role=Role.USER, content=content))
        self._builder, self._usages, self._models = TraceBuilder(), [], {}
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

    def hear(self, model: str, reply: ModelReply) -> bool:
        """Take a reply of `model`, answer its tool calls, and say whether it made any."""
        self._usages.append(reply.usage)
        self._models[model] = None
        cost = CallCost(reply.seconds, reply.retries)
        self.waited += reply.waited
        if reply.text:
            self._builder.add(StepKind.ASSISTANT, reply.text, cost=cost)
        if reply.stop is StopReason.LENGTH:
            self.note(f"{model} stopped at its token limit.")
        self._messages.append(
            Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        )
        calls = [(call, *_usable(call)) for call in reply.tool_calls]
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
        answers = [self._result(call.name, arguments, raw) for call, arguments, raw in calls]
        for (call, _, _), answer in zip(calls, answers, strict=True):
            self._give(call, answer)
        self.due = max((answer.delay for answer in answers), default=0.0)
        return bool(calls)

    def note(self, text: str, cost: CallCost = NO_CALL) -> None:
        """Record something that went wrong on the way as an error step."""
        self._builder.add(StepKind.ERROR, text, cost=cost)
        self.waited += cost.waited

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

    def _result(self, tool: str, arguments: JsonObject, raw: str) -> ToolAnswer:
        names = [definition.name for definition in self._tools]
        if tool not in names:
            offered = ", ".join(names) or "none"
            return ToolAnswer(f"There is no tool {tool!r}. Tools: {offered}.", is_error=True)
        if raw:
            return ToolAnswer("The arguments are no usable JSON object.", is_error=True)
        return self._replay.answer(tool, arguments)


def _message(said: InputMessage) -> Message:
    return Message(
        role=said.role.value,
        text=text_of(said.content),
        parts=tuple(map(_part, parts_of(said.content))) if any(files_in(said.content)) else (),
        tool_calls=tuple(
            ToolCall(id=one.id, name=one.tool, arguments=one.arguments) for one in said.tool_calls
        ),
        tool_call_id=said.tool_call_id,
    )


def _part(said: Part) -> str | MessageFile:
    if not isinstance(said, FilePart) or said.content is None:
        return said.shown
    found = said.content
    return MessageFile(
        name=found.name,
        media_type=found.media_type,
        is_image=said.type == "image",
        data=found.data,
    )


def _usable(call: ToolCall) -> tuple[JsonObject, str]:
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
        layer = [inner for item in layer for inner in _inside(item)]
    return any(isinstance(item, dict | list) for item in layer)


def _inside(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
