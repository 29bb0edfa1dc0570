"""Which texts of a stream are the final message, by kind."""

from __future__ import annotations

import contextlib
import json
from typing import get_args

import pytest
from pydantic import JsonValue

from gateval.candidates.answer_streams import STREAMS, StreamError, read_stream
from gateval.candidates.contract import ClaimError, read_response
from gateval.candidates.options import HttpResponseOptions


def sse(*values: JsonValue, names: tuple[str, ...] = ()) -> bytes:
    """Values as server-sent events; texts stand as they are."""
    lines = []
    for at, value in enumerate(values):
        named = f"event: {names[at]}\n" if at < len(names) and names[at] else ""
        data = value if isinstance(value, str) else json.dumps(value)
        lines.append(f"{named}data: {data}\n\n")
    return "".join(lines).encode()


def chat(text: str, **more: JsonValue) -> JsonValue:
    return {"choices": [{"index": 0, "delta": {"content": text}, **more}]}


AI_PARTS = b"""f:{"messageId":"m"}
0:"I look "
0:"it up."
9:{"toolCallId":"a","toolName":"find","args":{}}
a:{"toolCallId":"a","result":"secret"}
e:{"finishReason":"tool-calls"}
f:{"messageId":"n"}
0:"It is "
0:"on its way."
e:{"finishReason":"stop"}
d:{"finishReason":"stop"}
"""
AI_EVENTS = sse(
    {"type": "start"},
    {"type": "start-step"},
    {"type": "text-delta", "id": "0", "delta": "Wait."},
    {"type": "tool-output-available", "toolCallId": "a", "output": "secret"},
    {"type": "finish-step"},
    {"type": "start-step"},
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "It is "},
    {"type": "text-delta", "id": "1", "delta": "on its way."},
    {"type": "finish-step"},
    {"type": "finish"},
    "[DONE]",
)
ANTHROPIC = sse(
    {"type": "message_start", "message": {}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It is "}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "late."}},
    {"type": "message_stop"},
)
RESPONSES = sse(
    {"type": "response.created"},
    {"type": "response.output_item.added", "item": {"type": "message"}},
    {"type": "response.output_text.delta", "delta": "It is late."},
    {"type": "response.completed", "response": {}},
)
AG_UI = sse(
    {"type": "RUN_STARTED"},
    {"type": "TEXT_MESSAGE_START", "messageId": "a"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "Wait."},
    {"type": "TEXT_MESSAGE_END", "messageId": "a"},
    {"type": "TOOL_CALL_RESULT", "content": "secret"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "delta": "It is "},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "delta": "late."},
    {"type": "RUN_FINISHED"},
)
SAID: JsonValue = {
    "type": "assistant_message", "content": [{"type": "output_text", "text": "It is late."}]
}  # fmt: skip
CHATKIT = sse(
    {"type": "thread.item.done", "item": {"type": "user_message", "content": [{"text": "Hi"}]}},
    {"type": "thread.item.updated", "update": {"delta": "It"}},
    {"type": "thread.item.done", "item": SAID},
)
LANGSERVE = sse(
    {"run_id": "1"}, '"It is "', {"content": "late."}, "", names=("metadata", "data", "data", "end")
)
LANGSERVE_0_3 = b'event: data\ndata: "It is "\n\nevent: data\ndata: "late."\n\nevent: end\n\n'
"""What langserve 0.3 sends: the last event has no data."""


def artifact(text: str, **more: JsonValue) -> JsonValue:
    made: JsonValue = {"artifactId": "x", "parts": [{"kind": "text", "text": text}]}
    return {"result": {"kind": "artifact-update", "artifact": made, **more}}


A2A = sse(
    {"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "status": {"state": "working"}}},
    artifact("It is "),
    artifact("late.", append=True),
    {"result": {"kind": "status-update", "final": True, "status": {"state": "completed"}}},
)
A2A_SENT = json.dumps(
    {"result": {"kind": "message", "parts": [{"kind": "text", "text": "It is late."}]}}
).encode()

# What a2a-sdk 1.3 sends.
A2A_1 = sse(
    {"result": {"task": {"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"}}}},
    {
        "result": {
            "statusUpdate": {
                "status": {
                    "state": "TASK_STATE_WORKING",
                    "message": {"role": "ROLE_AGENT", "parts": [{"text": "Looking."}]},
                }
            }
        }
    },
    {
        "result": {
            "artifactUpdate": {"artifact": {"artifactId": "a", "parts": [{"text": "It is "}]}}
        }
    },
    {
        "result": {
            "artifactUpdate": {
                "artifact": {"artifactId": "a", "parts": [{"text": "late."}]},
                "append": True,
                "lastChunk": True,
            }
        }
    },
    {"result": {"statusUpdate": {"status": {"state": "TASK_STATE_COMPLETED"}}}},
)
A2A_1_SENT = b'{"result": {"task": {"status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"artifactId": "a", "parts": [{"text": "It is "}, {"text": "late."}]}], "history": [{"role": "ROLE_AGENT", "parts": [{"text": "Looking."}]}]}}, "id": "1", "jsonrpc": "2.0"}'
A2A_1_SAID = b'{"result": {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "It is late."}]}}}'


@pytest.mark.parametrize(
    ("stream", "body", "path", "said"),
    [
        ("sse", sse({"delta": "It is "}, {"tool": "x"}, {"delta": "l"}), "$.delta", "It is l"),
        ("ndjson", b'{"m": "It is "}\n\n{"m": "late."}\n', "$.m", "It is late."),
        ("aisdk", AI_PARTS, None, "It is on its way."),
        ("aisdk", AI_EVENTS, None, "It is on its way."),
        ("openai", sse(chat("It is "), chat("late."), "[DONE]"), None, "It is late."),
        ("openai", sse(chat("It is "), chat("l", finish_reason="stop")), None, "It is l"),
        ("openai", RESPONSES, None, "It is late."),
        (
            "openai",
            sse({"choices": [{"delta": {"refusal": "I will not."}}]}, "[DONE]"),
            None,
            "I will not.",
        ),
        (
            "openai",
            sse(
                {"type": "response.refusal.delta", "delta": "I will "},
                {"type": "response.refusal.delta", "delta": "not."},
                {"type": "response.completed", "response": {}},
            ),
            None,
            "I will not.",
        ),
        (
            "openai",
            sse(
                {"type": "response.output_text.delta", "delta": "It is l"},
                {"type": "response.incomplete", "response": {}},
            ),
            None,
            "It is l",
        ),
        ("anthropic", ANTHROPIC, None, "It is late."),
        ("ag-ui", AG_UI, None, "It is late."),
        ("chatkit", CHATKIT, None, "It is late."),
        ("langserve", LANGSERVE, None, "It is late."),
        ("langserve", LANGSERVE_0_3, None, "It is late."),
        ("a2a", A2A, None, "It is late."),
        ("a2a", A2A_SENT, None, "It is late."),
        ("a2a", A2A_1, None, "It is late."),
        ("a2a", A2A_1_SENT, None, "It is late."),
        ("a2a", A2A_1_SAID, None, "It is late."),
    ],
)
def test_the_final_message(stream: str, body: bytes, path: str | None, said: str) -> None:
    assert read_stream(stream, body, path, join=True) == said
    assert read_stream(stream, body.replace(b"\n", b"\r\n"), path, join=True) == said


def test_without_join_the_last_text_is_the_message() -> None:
    body = sse({"text": "It"}, {"text": "It is late."})
    assert read_stream("sse", body, "$.text", join=False) == "It is late."


@pytest.mark.parametrize(
    ("stream", "body", "end"),
    [
        ("aisdk", AI_PARTS, b"d:"),
        ("aisdk", AI_EVENTS, b'data: {"type": "finish"}'),
        ("openai", RESPONSES, b'data: {"type": "response.completed"'),
        ("openai", sse(chat("It is ")), b"never"),
        ("anthropic", ANTHROPIC, b'data: {"type": "message_stop"'),
        ("ag-ui", AG_UI, b'data: {"type": "RUN_FINISHED"'),
        ("chatkit", CHATKIT, b'data: {"type": "thread.item.done", "item": {"type": "assistant'),
        ("langserve", LANGSERVE, b"event: end"),
        ("a2a", A2A, b'data: {"result": {"kind": "status-update"'),
        ("a2a", A2A_1, b'data: {"result": {"statusUpdate": {"status": {"state": "TASK_STATE_C'),
    ],
)
def test_one_that_breaks_off_is_no_answer(stream: str, body: bytes, end: bytes) -> None:
    with pytest.raises(StreamError, match="broke off"):
        read_stream(stream, body.partition(end)[0], None, join=True)


@pytest.mark.parametrize(
    ("stream", "body"),
    [
        ("aisdk", b'0:"a"\n3:"out of money"\n'),
        ("aisdk", sse({"type": "error", "errorText": "out of money"})),
        ("openai", sse({"error": {"message": "out of money"}})),
        ("anthropic", sse({"type": "error", "error": {"message": "out of money"}})),
        ("ag-ui", sse({"type": "RUN_ERROR", "message": "out of money"})),
        ("chatkit", sse({"type": "error", "message": "out of money"})),
        ("langserve", sse({"message": "out of money"}, names=("error",))),
        ("a2a", b'{"error": {"message": "out of money"}}'),
        ("a2a", b'{"error": {"code": -32601, "message": "out of money"}, "id": "1"}'),
    ],
)
def test_an_error_in_it_is_no_answer(stream: str, body: bytes) -> None:
    with pytest.raises(StreamError, match="out of money"):
        read_stream(stream, body, None, join=True)


def _ag_ui(*events: JsonValue) -> bytes:
    """A run of AG-UI that finishes, unless its last event says otherwise."""
    return sse({"type": "RUN_STARTED"}, *events, {"type": "RUN_FINISHED"})


def _begun(name: str, **more: JsonValue) -> JsonValue:
    return {"type": "TEXT_MESSAGE_START", "messageId": name, **more}


def _told(name: str, delta: str, **more: JsonValue) -> JsonValue:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": delta, **more}


def _done(name: str, text: str, kind: str = "done") -> JsonValue:
    parts: JsonValue = [{"type": "output_text", "text": text}]
    item: JsonValue = {"type": "assistant_message", "id": name, "content": parts}
    return {"type": f"thread.item.{kind}", "item": item}


def _data(state: str) -> JsonValue:
    """What a task of A2A says that made no text."""
    made: JsonValue = {"artifactId": "x", "parts": [{"kind": "data", "data": {"order": 7}}]}
    said: JsonValue = {"parts": [{"kind": "text", "text": "Looking."}]}
    status: JsonValue = {"state": state, "message": said}
    return {"result": {"kind": "task", "artifacts": [made], "status": status}}


LATE = "It is late."


@pytest.mark.parametrize(
    ("stream", "body"),
    [
        ("ag-ui", _ag_ui(_begun("a"), _told("a", LATE), _begun("b", role="system"), _told("b", "State"))),
        ("ag-ui", _ag_ui(_begun("a"), _begun("b"), _told("a", "Wait."), _told("b", LATE))),
        ("ag-ui", _ag_ui(_begun("a"), _told("a", LATE), _begun("b", subagentRunId="s"), _told("b", "In"))),
        ("ag-ui", _ag_ui(_begun("b", subagentRunId="s"), _told("b", LATE))),
        ("ag-ui", _ag_ui({"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": "It is "}, {"type": "TEXT_MESSAGE_CHUNK", "delta": "late."})),
        ("ag-ui", _ag_ui(_begun("a"), _told("a", LATE), _begun("b"))),
        ("ag-ui", _ag_ui({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "assistant", "content": "Before"}, {"id": "2", "role": "user", "content": "Late?"}, {"id": "3", "role": "assistant", "content": LATE}]})),
        ("ag-ui", _ag_ui({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "assistant", "content": "Before"}, {"id": "2", "role": "user", "content": "Late?"}]}, _begun("a"), _told("a", LATE))),
        ("ag-ui", sse({"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "approval", "message": LATE}]}})),
        ("ag-ui", _ag_ui({"type": "CUSTOM", "name": "on_interrupt", "value": LATE})),
        ("ag-ui", sse({"type": "RUN_FINISHED", "result": LATE})),
        ("chatkit", sse(_done("a", "A secret"), _done("a", LATE, "replaced"))),
        ("chatkit", sse(_done("a", LATE), _done("b", "Bad"), {"type": "thread.item.removed", "item_id": "b"})),
        ("langserve", sse({"context": "x"}, {"answer": "It is "}, {"answer": "late."}, "", names=("data", "data", "data", "end"))),
        ("langserve", sse({"actions": []}, {"steps": []}, {"output": LATE}, "", names=("data", "data", "data", "end"))),
        ("aisdk", sse({"type": "text-start", "id": "a"}, {"type": "text-delta", "id": "a", "delta": LATE}, "[DONE]")),
        ("openai", json.dumps({"object": "chat.completion", "choices": [{"index": 0, "message": {"content": LATE}, "finish_reason": "stop"}]}, indent=2).encode()),
        ("openai", b"".join(json.dumps(one).encode() + b"\n" for one in (chat("It is "), chat("late.", finish_reason="stop")))),
        ("openai", json.dumps({"object": "response", "status": "completed", "error": None, "output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": LATE}]}]}).encode()),
        ("openai", sse({"type": "response.completed", "response": {"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": LATE}]}]}})),
        ("anthropic", json.dumps({"type": "message", "content": [{"type": "thinking"}, {"type": "text", "text": LATE}]}).encode()),
        ("anthropic", ANTHROPIC.replace(b"data: ", b"").replace(b"\n\n", b"\n")),
    ],
)  # fmt: skip
def test_what_servers_of_their_packages_send_besides(stream: str, body: bytes) -> None:
    assert read_stream(stream, body, None, join=True) == LATE


def test_a_task_that_made_no_text_made_its_data() -> None:
    body = sse(_data("working"), _data("completed"))
    assert json.loads(read_stream("a2a", body, None, join=True)) == {"order": 7}


@pytest.mark.parametrize(
    ("stream", "body", "why"),
    [
        ("aisdk", sse({"type": "text-delta", "delta": LATE}, {"type": "abort"}, "[DONE]"), "aborted"),
        ("ag-ui", sse(_begun("a"), _told("a", LATE), {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}), "the run was cancelled"),
        ("chatkit", sse({"type": "thread.item.done", "item": {"type": "client_tool_call", "name": "theme"}}), "asks the page to run `theme`"),
        ("langserve", sse({"verdict": "x"}, "", names=("data", "end")), r"objects with `verdict`: say .* `response: \{stream: sse, output: \$.KEY\}`"),
        ("openai", b'{"object": "response", "status": "failed", "error": {"message": "no money"}}', "no money"),
        ("openai", b'{"object": "chat.completion", "choices": [{"mes', "is no JSON"),
        ("a2a", sse(_data("failed")), "ended as failed: Looking."),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_told_with_its_reason(stream: str, body: bytes, why: str) -> None:
    with pytest.raises(StreamError, match=why):
        read_stream(stream, body, None, join=True)


ODD: list[JsonValue] = [None, 1, True, "x", [], [[]], {}, {"a": 1}, [None]]
KINDS = ["TEXT_MESSAGE_CHUNK", "TEXT_MESSAGE_START", "text-delta", "content_block_delta"]
KINDS += ["response.output_text.delta", "response.output_item.added", "thread.item.done", "error"]
KEYS = ["type", "messageId", "delta", "item", "choices", "error", "result", "artifact", "status"]


@pytest.mark.parametrize("stream", STREAMS)
def test_values_of_another_kind_are_no_fault_of_the_gate(stream: str) -> None:
    for kind in KINDS:
        for key in KEYS:
            events: list[JsonValue] = [{"type": kind, key: odd} for odd in ODD]
            for body in (sse(*events), b"\n".join(json.dumps(one).encode() for one in events)):
                with contextlib.suppress(StreamError):
                    assert isinstance(read_stream(stream, body, "$.delta", join=True), str)


def test_nothing_found_is_no_answer() -> None:
    with pytest.raises(StreamError, match=r"nothing in the stream stands at `\$\.text`"):
        read_stream("sse", sse({"other": 1}), "$.text", join=True)


def test_the_manifest_knows_every_kind() -> None:
    kinds = HttpResponseOptions.model_fields["stream"].annotation
    assert {one for part in get_args(kinds) for one in get_args(part)} == set(STREAMS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"stream": "sse"}, "needs `output`"),
        ({"stream": "aisdk", "output": "$.x"}, "remove `output`"),
        ({"stream": "sse", "output": "$.x", "usage": "$.y"}, "remove `trace`"),
    ],
)
def test_what_does_not_go_together(options: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HttpResponseOptions.model_validate(options)


def test_an_event_called_error_is_no_part_of_an_answer() -> None:
    body = b'data: {"t": "Your order"}\n\nevent: error\ndata: {"why": "no credit"}\n\n'
    with pytest.raises(StreamError, match="the stream tells an error"):
        read_stream("sse", body, "$.t", join=True)
    assert read_stream("sse", body.replace(b"event: error", b"event: end"), "$.t", join=True)


SECRET = "pw-" + "q7" * 20
BROKEN: list[tuple[str, bytes, str | None, str]] = [
    ("sse", sse({"t": "It is "}, '{"t": "la', {"t": "late."}), "$.t", 'event 2 .* no JSON .*la"'),
    ("sse", sse({"t": "It is "}, "{'t': 'late.'}"), "$.t", "event 2"),
    ("sse", sse({"t": "It is "}, '{"t": 1, "t": "late."}'), "$.t", "event 2"),
    ("sse", sse({"t": "It is "}, "Internal Server Error"), "$.t", "event 2 .*Internal Server"),
    ("sse", sse({"t": "It is "}, "error"), "$.t", "event 2"),
    ("sse", b'data: {"t": "It is "}\n\nevent: x\ndata: {"t": "la\n\n', "$.t", "event 2"),
    ("ndjson", b'{"m": "It is "}\n\n{"m": "la\n', "$.m", "line 3 .* no JSON"),
    ("ndjson", b'{"m": "It is "}\nInternal Server Error\n', "$.m", "line 2"),
    ("ndjson", b'"It is "\nlate.\n', "$", "line 2"),
    ("aisdk", AI_PARTS.replace(b'0:"on its way."', b'0:"on its'), None, 'line 9 .*0:\\\\?"on its'),
    ("aisdk", AI_PARTS.replace(b'0:"on its way."', b"on its way."), None, "line 9"),
    ("aisdk", AI_PARTS.replace(b'0:"on its way."', b"0:5"), None, "piece of its text is none"),
    ("aisdk", AI_EVENTS.replace(b'"on its way."}', b'"on its'), None, "event 9 .* no JSON"),
    ("aisdk", AI_EVENTS.replace(b'"on its way."', b"null"), None, "piece of its text is none"),
    ("openai", sse(chat("It is "), '{"choices": [', "[DONE]"), None, "event 2"),
    ("anthropic", ANTHROPIC.replace(b'"late."}}', b'"late.'), None, "event 4"),
    ("ag-ui", AG_UI.replace(b'"delta": "late."}', b'"delta": "la'), None, "event 7"),
    ("langserve", LANGSERVE_0_3.replace(b'"late."', b'"la'), None, "event 2"),
    ("a2a", A2A.replace(b'"text": "late."', b'"text": late.'), None, "event 3"),
    ("a2a", A2A_SENT[:-2], None, "answer 1"),
]


@pytest.mark.parametrize(("stream", "body", "path", "said"), BROKEN)
def test_a_piece_that_cannot_be_read_is_no_answer(
    stream: str, body: bytes, path: str | None, said: str
) -> None:
    with pytest.raises(StreamError, match=said):
        read_stream(stream, body, path, join=True)


@pytest.mark.parametrize("name", ["type", "event"])
@pytest.mark.parametrize("stream", ["sse", "ndjson"])
def test_an_object_that_tells_an_error_is_no_part_of_an_answer(stream: str, name: str) -> None:
    for error in ({name: "error", "message": "no credit"}, {"error": {"message": "no credit"}}):
        lines = [json.dumps({"t": "Your order"}), json.dumps(error)]
        body = sse(*lines) if stream == "sse" else "\n".join(lines).encode()
        with pytest.raises(StreamError, match=r"tells an error: .*no credit"):
            read_stream(stream, body, "$.t", join=True)


def test_what_stands_beside_the_answer_is_passed_over() -> None:
    body = b'event: title\ndata: Your order\n\nevent: ping\ndata: 12:30:05\n\ndata: {"t": "It is "}\n\n'
    body += b'data: {"tool": "find", "error": "no such order"}\n\ndata: {"t": "late."}\n\n'
    for end in (b"data: [DONE]\n\n", b"data: end\n\n", b"data:\n\n"):
        assert read_stream("sse", body + end, "$.t", join=True) == "It is late."
    assert read_stream("sse", sse("Hello", " {there", "[DONE]"), "$", join=True) == "Hello {there"
    spread = '{"t": "It is\u2028"}\n{"t": "late.\x85"}\n[DONE]\n'.encode()
    assert read_stream("ndjson", spread, "$.t", join=True) == "It is\u2028late.\x85"
    assert read_stream("aisdk", b'0:"It is\xe2\x80\xa8"\nd:{}\n', None, join=True) == "It is\u2028"


def test_no_half_of_a_secret_is_shown() -> None:
    for pad in range(80):
        body = sse('{"t": "' + "a " * (pad // 2) + SECRET + '", ' + "x" * 300)
        with pytest.raises(StreamError) as caught:
            read_stream("sse", body, "$.t", join=True)
        assert SECRET in str(caught.value) or "pw-" not in str(caught.value)


@pytest.mark.parametrize("kind", ["text/plain", "text/plain; charset=utf-8"])
def test_text_of_an_ai_sdk_server_is_its_answer(kind: str) -> None:
    """`toTextStreamResponse()` has no events and no end, and its pages read it so."""
    response = HttpResponseOptions(stream="aisdk")
    media = kind.partition(";")[0]
    assert read_response(response, "It is\n\nlate: 5 °C.\n".encode(), media).output == (
        "It is\n\nlate: 5 °C."
    )
    assert read_response(response, AI_PARTS, media).output == "It is on its way."
    assert read_response(response, AI_EVENTS, media).output == "It is on its way."


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"It is late.", "", r"no event or part of an AI SDK stream .*`response: \{\}`"),
        (b"<html>Sign in</html>", "text/html", "no event or part"),
        (b'{"text": "It is late."}', "application/json", r"output: \$\.text"),
        (b" \n", "text/plain", "broken off"),
        (AI_PARTS[:60], "text/plain", "broke off|no part"),
        (AI_EVENTS[:60], "text/plain", "broke off|no JSON"),
    ],
)
def test_what_is_no_stream_of_the_ai_sdk_is_said(body: bytes, kind: str, said: str) -> None:
    with pytest.raises(ClaimError, match=said):
        read_response(HttpResponseOptions(stream="aisdk"), body, kind)
