"""The trace that successive model calls give.

A history is written as text: `u:hello`, `a:hi`, `c:id name`, `t:id result`, `s:prompt`. An `a`
and the `c`s after it are one assistant message.
"""

from __future__ import annotations

import pytest

from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolDefinition,
    Usage,
)
from gateval.domain.trials.trace import Trace
from gateval.gateway.local.recording import TraceRecorder

ROLES = {"u": "user", "s": "system", "a": "assistant"}


def history(*words: str) -> ModelRequest:
    messages: list[Message] = []
    for word in words:
        kind, _, text = word.partition(":")
        first, _, rest = text.partition(" ")
        if kind == "c":
            call = ToolCall(id=first, name=rest, arguments={"of": rest})
            if not messages or messages[-1].role != "assistant":
                messages.append(Message(role="assistant"))
            calls = (*messages[-1].tool_calls, call)
            messages[-1] = messages[-1].model_copy(update={"tool_calls": calls})
        elif kind == "t":
            messages.append(Message(role="tool", text=rest, tool_call_id=first))
        else:
            messages.append(Message.model_validate({"role": ROLES[kind], "text": text}))
    return ModelRequest(model="m", messages=tuple(messages))


def said(*words: str) -> ModelReply:
    message = history(*words).messages[0]
    return ModelReply(text=message.text, tool_calls=message.tool_calls)


def steps(trace: Trace | None) -> list[str]:
    assert trace is not None
    assert [step.number for step in trace.steps] == list(range(1, len(trace.steps) + 1))
    shown = {
        "user": "u:{0.text}",
        "assistant": "a:{0.text}",
        "tool_call": "c:{0.call_id} {0.tool}",
        "tool_result": "t:{0.call_id} {0.text} ({0.tool})",
        "error": "e:{0.text}",
    }
    return [shown[step.kind].format(step) for step in trace.steps]


def record(*calls: tuple[ModelRequest, ModelReply | str]) -> list[str]:
    recorder = TraceRecorder()
    for request, outcome in calls:
        if isinstance(outcome, str):
            recorder.error(request, outcome)
        else:
            recorder.reply("openai/m", request, outcome)
    return steps(recorder.trace())


def test_nothing_happened() -> None:
    assert TraceRecorder().trace() is None


def test_a_tool_round_trip_with_the_whole_history_sent_again() -> None:
    assert record(
        (history("s:You help", "u:hi"), said("a:Let me see", "c:1 look", "c:2 look")),
        (
            history("s:You help", "u:hi", "a:Let me see", "c:1 look", "c:2 look", "t:1 x", "t:2 y"),
            said("a:Done"),
        ),
        (
            history(
                "s:You help now", "u:hi", "a:Let me see", "c:1 look", "c:2 look", "t:1 x", "t:2 y",
                "a:Done", "u:hi",
            ),
            said("a:Hello again"),
        ),
    ) == ["u:hi", "a:Let me see", "c:1 look", "c:2 look", "t:1 x (look)", "t:2 y (look)", "a:Done",
          "u:hi", "a:Hello again"]  # fmt: skip


@pytest.mark.parametrize(
    "altered",
    [
        ("u:hi", "c:1 look"),
        ("u:  hi ", "a:See", "c:1 look"),
        ("u:hi", "a:See", "c:rewritten look"),
        ("u:hi", "a:See", "c:1 renamed"),
    ],
)
def test_frameworks_alter_what_they_send_again(altered: tuple[str, ...]) -> None:
    assert record(
        (history("u:hi"), said("a:See", "c:1 look")),
        (history(*altered, "t:1 x"), said("a:Done")),
    )[:-2] == ["u:hi", "a:See", "c:1 look"]


def test_an_error_and_the_same_call_again() -> None:
    assert record(
        (history("u:hi"), "openai is down."),
        (history("u:hi"), "openai is down."),
        (history("u:hi"), said("a:Hello")),
    ) == ["u:hi", "e:openai is down.", "e:openai is down.", "a:Hello"]


def test_a_call_that_nobody_could_read() -> None:
    recorder = TraceRecorder()
    recorder.error(None, "no JSON")
    trace = recorder.trace()
    assert steps(trace) == ["e:no JSON"]
    assert trace is not None
    assert trace.model_calls == 0


def test_two_conversations_side_by_side() -> None:
    assert record(
        (history("s:A", "u:one"), said("a:1")),
        (history("s:B", "u:two"), said("a:2")),
        (history("s:A", "u:one", "a:1", "u:more"), said("a:3")),
        (history("s:B", "u:two", "a:2", "u:more"), said("a:4")),
    ) == ["u:one", "a:1", "u:two", "a:2", "u:more", "a:3", "u:more", "a:4"]


def test_two_agents_asked_the_same() -> None:
    assert record(
        (history("s:Router", "u:help"), said("a:billing")),
        (history("s:Billing", "u:help"), said("a:Your bill")),
    ) == ["u:help", "a:billing", "a:Your bill"]


def test_a_window_that_forgets_the_beginning() -> None:
    assert record(
        (history("u:1"), said("c:a look")),
        (history("u:1", "c:a look", "t:a x"), said("a:A")),
        (history("c:a look", "t:a x", "a:A", "u:2"), said("a:B")),
        (history("u:2", "a:B", "u:3"), said("a:C")),
    ) == ["u:1", "c:a look", "t:a x (look)", "a:A", "u:2", "a:B", "u:3", "a:C"]


def test_a_summary_takes_the_place_of_the_history() -> None:
    assert record(
        (history("u:long"), said("c:a look")),
        (history("u:In short: long", "c:a look", "t:a x", "u:go on"), said("a:A")),
    ) == ["u:long", "c:a look", "u:In short: long", "t:a x (look)", "u:go on", "a:A"]


def test_old_results_get_shortened() -> None:
    assert record(
        (history("u:1"), said("c:a look")),
        (history("u:1", "c:a look", "t:a very long"), said("c:b look")),
        (history("u:1", "c:a look", "t:a [cut]", "c:b look", "t:b y"), said("a:A")),
    ) == ["u:1", "c:a look", "t:a very long (look)", "c:b look", "t:b y (look)", "a:A"]


def test_the_same_words_twice_are_two_steps_when_a_conversation_goes_on() -> None:
    assert record(
        (history("u:yes"), said("a:Sure?")),
        (history("u:yes", "a:Sure?", "u:yes"), said("a:Sure?")),
        (history("a:Sure?", "u:yes", "a:Sure?", "u:yes"), said("a:Sure?")),
    ) == ["u:yes", "a:Sure?", "u:yes", "a:Sure?", "a:Sure?"]


def test_examples_at_the_beginning_are_no_deeds() -> None:
    """Few-shot examples must not make `toolCalled` true."""
    examples = ("u:example", "c:0 refund", "t:0 done", "a:Refunded")
    assert record(
        (history(*examples, "u:real"), said("a:No")),
        (history(*examples, "u:real", "a:No", "u:again"), said("c:9 refund")),
    ) == ["u:example", "a:Refunded", "u:real", "a:No", "u:again", "c:9 refund"]


def test_calls_that_the_agent_makes_by_itself_are_deeds() -> None:
    before = ("u:what", "c:0 search", "t:0 found")
    assert record(
        (history(*before), said("a:This")),
        (history(*before, "a:This", "u:log it", "c:1 log", "t:1 ok"), said("a:Logged")),
    ) == ["u:what", "c:0 search", "t:0 found (search)", "a:This", "u:log it", "c:1 log",
          "t:1 ok (log)", "a:Logged"]  # fmt: skip


def test_servers_that_give_every_call_the_same_id() -> None:
    assert record(
        (history("u:1"), said("c:call_0 look")),
        (history("u:1", "c:call_0 look", "t:call_0 x"), said("c:call_0 find")),
        (history("u:1", "c:call_0 look", "t:call_0 x", "c:call_0 find", "t:call_0 y"), said("a:A")),
    ) == ["u:1", "c:call_0 look", "t:call_0 x (look)", "c:call_0 find", "t:call_0 y (find)", "a:A"]


def test_an_empty_answer_is_a_step() -> None:
    assert record((history("u:hi"), ModelReply())) == ["u:hi", "a:"]


def test_usage_models_and_arguments() -> None:
    recorder = TraceRecorder()
    broken = ToolCall(id="1", name="f", raw="{broken")
    usage = Usage(input_tokens=3, output_tokens=4)
    recorder.reply("openai/m", history("u:1"), ModelReply(tool_calls=(broken,), usage=usage))
    recorder.reply("anthropic/n", history("u:2"), ModelReply(text="x", usage=usage))
    trace = recorder.trace()
    assert trace is not None
    assert (trace.source, trace.model_calls) == ("gateway", 2)
    assert trace.models == ("openai/m", "anthropic/n")
    assert trace.usage == Usage(input_tokens=6, output_tokens=8)
    assert trace.steps[1].arguments == {}
    assert trace.steps[1].text == "{broken"

    recorder.reply("openai/m", history("u:3"), ModelReply(text="x"))
    unknown = recorder.trace()
    assert unknown is not None
    assert unknown.usage == Usage()
    assert unknown.models == ("openai/m", "anthropic/n")


def test_what_was_not_offered_is_refused_and_what_the_provider_runs_is_not() -> None:
    recorder = TraceRecorder()
    offer = (ToolDefinition(name="look"), ToolDefinition(name="web_search_preview"))
    request = history("u:hi").model_copy(update={"tools": offer})
    calls = (
        ToolCall(id="1", name="look"),
        ToolCall(id="2", name="pay"),
        ToolCall(id="3", name="web_search", by_provider=True),
    )
    recorder.reply("openai/m", request, ModelReply(tool_calls=calls))
    trace = recorder.trace()
    assert trace is not None
    assert [step.tool for step in trace.tool_calls() if step.refused] == ["pay"]


def numbers(*calls: tuple[ModelRequest, ModelReply | str]) -> list[int]:
    recorder = TraceRecorder()
    for request, outcome in calls:
        if isinstance(outcome, str):
            recorder.error(request, outcome)
        else:
            recorder.reply("openai/m", request, outcome)
    trace = recorder.trace()
    assert trace is not None
    assert trace.is_parallel == any(step.conversation > 1 for step in trace.steps)
    return [step.conversation for step in trace.steps]


def test_sub_agents_side_by_side_are_told_apart() -> None:
    assert numbers(
        (history("s:Lead", "u:plan"), said("c:1 ask", "c:2 ask")),
        (history("s:A", "u:one"), said("c:a look")),
        (history("s:B", "u:two"), said("c:b look")),
        (history("s:B", "u:two", "c:b look", "t:b y"), said("a:B is done")),
        (history("s:A", "u:one", "c:a look", "t:a x"), said("a:A is done")),
        (history("s:Lead", "u:plan", "c:1 ask", "c:2 ask", "t:1 x", "t:2 y"), said("a:All done")),
    ) == [1, 1, 1, 2, 2, 3, 3, 3, 3, 2, 2, 1, 1, 1]


def test_sub_agents_that_are_asked_the_same_are_told_apart() -> None:
    assert numbers(
        (history("s:A", "u:review"), said("a:Fine")),
        (history("s:B", "u:review"), said("a:Not fine")),
        (history("s:A", "u:review", "a:Fine", "u:sure?"), said("a:Yes")),
        (history("s:B", "u:review", "a:Not fine", "u:sure?"), "openai is down."),
    ) == [1, 1, 2, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "again",
    [
        ("u:hi", "a:See", "c:1 look", "t:1 x", "a:Done", "u:more"),
        ("s:New rules", "u:hi", "c:9 look", "t:9 x", "a:Done", "u:more"),
        ("a:Done", "u:more"),
        ("u:In short: hi", "a:Done", "u:more"),
    ],
    ids=["whole", "rewritten", "window", "summary"],
)
def test_one_agent_stays_one_however_it_alters_its_history(again: tuple[str, ...]) -> None:
    assert set(
        numbers(
            (history("u:hi"), said("a:See", "c:1 look")),
            (history("u:hi", "a:See", "c:1 look", "t:1 x"), said("a:Done")),
            (history(*again), said("a:More")),
        )
    ) == {1}
