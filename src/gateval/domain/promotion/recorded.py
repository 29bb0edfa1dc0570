"""A recorded run of an agent, whoever recorded it: what came in, what it called, what it said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject, Value
from gateval.domain.manifests.fixture import FixtureInput, InputType
from gateval.domain.manifests.fixtures.messages import InputMessage, InputToolCall, Role


class NoRun(Exception):
    """A record holds no run that can be promoted; the message is the end of a sentence."""


class RecordedCall(Value):
    """A call of a tool, and what it answered: a `result`, or the text of an `error`.

    `answered` says whether that was recorded.
    """

    id: str = ""
    tool: str
    arguments: JsonObject = {}
    answered: bool = False
    result: JsonValue = None
    error: str | None = None


class RecordedMessage(Value):
    """A message of a conversation, in the words of no provider."""

    role: Role
    text: str = ""
    calls: tuple[RecordedCall, ...] = ()
    call_id: str = ""
    result: JsonValue = None
    is_error: bool = False


class Recorded(Value):
    """A run that can be promoted. `turns` are what the user said, where that was several times.

    `fixture` is what it answers to, with ` on base` behind it if base does; empty if none is named.
    `side` says whose run it was, where the gate recorded it, and `failed`, as the end of a
    sentence, why the gate did not let it pass; empty if it did, or nobody judged it.
    """

    trace_id: str = ""
    fixture: str = ""
    side: str = ""
    failed: str = ""
    input: FixtureInput
    turns: tuple[str, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    output: str = ""


def recorded_run(messages: Sequence[RecordedMessage], trace_id: str = "") -> Recorded:
    """Return the last exchange of a conversation; what came before is what it begins with.

    System messages are left out: the agent has its own. Raises `NoRun` where nobody asks, or
    nothing is answered.
    """
    spoken = [one for one in messages if one.role is not Role.SYSTEM]
    asked = [at for at, one in enumerate(spoken) if one.role is Role.USER and one.text.strip()]
    if not asked:
        raise NoRun("no user says anything in it")
    last = asked[-1]
    answer = spoken[last + 1 :]
    said = [one.text for one in answer if one.role is Role.ASSISTANT and one.text.strip()]
    calls = tuple(answered_calls(answer))
    if not said and not calls:
        raise NoRun("nothing answers what the user said last")
    return Recorded(
        trace_id=trace_id,
        input=_input(spoken[: last + 1]),
        calls=calls,
        output=said[-1] if said else "",
    )


def answered_calls(messages: Sequence[RecordedMessage]) -> Iterator[RecordedCall]:
    """Yield the calls of tools in order, each with the answer that came to it."""
    results = [one for one in messages if one.role is Role.TOOL]
    for message in messages:
        for call in message.calls:
            found = next((one for one in results if one.call_id == call.id), None)
            if call.answered or found is None:
                yield call
                continue
            results.remove(found)
            error = str(found.result or found.text) if found.is_error else None
            result = None if found.is_error else found.result
            yield call.model_copy(update={"answered": True, "result": result, "error": error})


def _input(messages: Sequence[RecordedMessage]) -> FixtureInput:
    """What comes in: the user's text, after what was said before."""
    prompt: JsonObject = {"prompt": messages[-1].text}
    before = tuple(_message(one) for one in messages if one.text or one.calls)
    if len(before) == 1:
        return FixtureInput(type=InputType.PROMPT, payload=prompt)
    return FixtureInput(type=InputType.PROMPT, messages=before)


def _message(said: RecordedMessage) -> InputMessage:
    return InputMessage(
        role=said.role,
        content=said.text,
        tool_calls=tuple(
            InputToolCall(id=call.id or f"call_{at}", tool=call.tool, arguments=call.arguments)
            for at, call in enumerate(said.calls, 1)
        ),
        tool_call_id=(said.call_id or "call_1") if said.role is Role.TOOL else None,
    )
