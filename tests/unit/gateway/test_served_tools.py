"""One call of a tool is one call, whether it is seen as a model's wish, as it arrives, or both."""

from __future__ import annotations

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolDefinition,
)
from gateval.gateway.local.recording import TraceRecorder

KNOWN = ("find", "refund")
USER = Message(role="user", text="hi")


def wish(*calls: ToolCall) -> ModelReply:
    return ModelReply(tool_calls=calls)


def call(name: str = "find", number: str = "c1", **arguments: int) -> ToolCall:
    return ToolCall(id=number, name=name, arguments={**arguments})


def asked(*messages: Message, offered: tuple[str, ...] = KNOWN) -> ModelRequest:
    tools = tuple(ToolDefinition(name=name) for name in offered)
    return ModelRequest(model="m", messages=(USER, *messages), tools=tools)


def arrive(
    recorder: TraceRecorder, name: str = "find", text: str = "found", *, streaming: bool = False,
    **arguments: int,
) -> None:  # fmt: skip
    given: JsonObject = {**arguments}
    recorder.tool(name, given, text, KNOWN, streaming=streaming)


def steps(recorder: TraceRecorder) -> list[str]:
    trace = recorder.trace()
    assert trace is not None
    return [
        f"{one.kind.value} {one.tool} {one.arguments}{' refused' if one.refused else ''}"
        if one.kind == "tool_call"
        else f"{one.kind.value} {one.text}"
        for one in trace.steps
    ]


def test_a_wish_that_arrives_is_one_call_with_one_result() -> None:
    recorder = TraceRecorder()
    recorder.reply("openai/m", asked(), wish(call(id=7)))
    arrive(recorder, id=7)
    said = Message(role="assistant", tool_calls=(call(id=7),))
    told = Message(role="tool", text="found", tool_call_id="c1")
    recorder.reply("openai/m", asked(said, told), ModelReply(text="done"))
    assert steps(recorder) == [
        "user hi", "tool_call find {'id': 7}", "tool_result found", "assistant done",
    ]  # fmt: skip


def test_a_result_that_the_program_wraps_is_not_told_twice_and_another_is() -> None:
    for text, more in (
        ('[{"type":"text","text":"found"}]', []),
        ("changed", ["tool_result changed"]),
    ):
        recorder = TraceRecorder()
        recorder.reply("openai/m", asked(), wish(call()))
        arrive(recorder)
        said = Message(role="assistant", tool_calls=(call(),))
        told = Message(role="tool", text=text, tool_call_id="c1")
        recorder.reply("openai/m", asked(said, told), ModelReply(text="done"))
        assert steps(recorder)[2:-1] == ["tool_result found", *more]


def test_the_name_of_a_server_before_the_tools_is_left_out() -> None:
    for shown in ("mcp__gateval__find", "gateval.find", "gateval_find"):
        recorder = TraceRecorder()
        recorder.reply("openai/m", asked(offered=(shown,)), wish(call(shown)))
        arrive(recorder)
        assert steps(recorder)[1:] == ["tool_call find {}", "tool_result found"]


def test_another_tool_that_ends_alike_is_another_call() -> None:
    recorder = TraceRecorder()
    known = ("find", "re_find")
    recorder.reply("openai/m", asked(offered=known), wish(call("re_find")))
    recorder.tool("find", {}, "found", known, streaming=False)
    assert steps(recorder)[1:] == ["tool_call re_find {}", "tool_call find {}", "tool_result found"]


def test_what_reached_the_tool_counts_where_the_program_changed_it() -> None:
    recorder = TraceRecorder()
    recorder.reply("openai/m", asked(), wish(call(id=7)))
    arrive(recorder, id=8)
    assert steps(recorder)[1:] == ["tool_call find {'id': 8}", "tool_result found"]


def test_each_of_two_wishes_is_met_by_its_own_arguments() -> None:
    recorder = TraceRecorder()
    recorder.reply("openai/m", asked(), wish(call(id=7), call(number="c2", id=8)))
    arrive(recorder, text="eight", id=8)
    arrive(recorder, text="seven", id=7)
    trace = recorder.trace()
    assert trace is not None
    assert [(one.call_id, one.arguments) for one in trace.tool_calls()] == [
        ("c1", {"id": 7}), ("c2", {"id": 8}),
    ]  # fmt: skip
    assert [(one.call_id, one.text) for one in trace.steps[3:]] == [
        ("c2", "eight"),
        ("c1", "seven"),
    ]


def test_a_call_that_nobody_asked_for_is_a_call() -> None:
    recorder = TraceRecorder()
    arrive(recorder, id=7)
    arrive(recorder, id=7)
    assert steps(recorder) == ["tool_call find {'id': 7}", "tool_result found"] * 2
    trace = recorder.trace()
    assert trace is not None
    assert (trace.source, trace.is_seen, trace.model_calls) == ("gateway", True, 0)


def test_a_call_that_began_before_the_stream_with_its_wish_ended() -> None:
    recorder = TraceRecorder()
    arrive(recorder, streaming=True, id=7)
    recorder.reply("openai/m", asked(), wish(call(id=7)))
    said = Message(role="assistant", tool_calls=(call(id=7),))
    told = Message(role="tool", text="found", tool_call_id="c1")
    recorder.reply("openai/m", asked(said, told), ModelReply(text="done"))
    assert steps(recorder).count("tool_call find {'id': 7}") == 1
    assert steps(recorder).count("tool_result found") == 1


def test_a_wish_is_no_claim_on_an_earlier_call_of_the_programs_own() -> None:
    recorder = TraceRecorder()
    arrive(recorder, id=7)
    recorder.reply("openai/m", asked(), wish(call(id=7)))
    arrive(recorder, id=7)
    assert steps(recorder).count("tool_call find {'id': 7}") == 2


def test_a_history_that_tells_of_an_earlier_call_is_no_second_one() -> None:
    """A program that calls a tool first, and puts it into the history as if the model had asked."""
    recorder = TraceRecorder()
    arrive(recorder, id=7)
    said = Message(role="assistant", tool_calls=(call(number="own", id=7),))
    told = Message(role="tool", text="found", tool_call_id="own")
    recorder.reply("openai/m", asked(said, told), ModelReply(text="done"))
    assert steps(recorder) == [
        "tool_call find {'id': 7}", "tool_result found", "user hi", "assistant done",
    ]  # fmt: skip


def test_a_tool_that_was_not_offered_but_reached_is_no_refused_call() -> None:
    recorder = TraceRecorder()
    recorder.reply("openai/m", asked(offered=()), wish(call("refund")))
    assert steps(recorder)[1:] == ["tool_call refund {} refused"]
    arrive(recorder, "refund")
    assert steps(recorder)[1:] == ["tool_call refund {}", "tool_result found"]


def test_a_tool_that_there_is_not_is_a_refused_call() -> None:
    recorder = TraceRecorder()
    arrive(recorder, "gone")
    assert steps(recorder) == ["tool_call gone {} refused", "tool_result found"]
