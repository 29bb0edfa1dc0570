"""What is written in a wire format reads back as it was; and nothing read ever does worse than
`WireError`."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateval.domain.base import JsonObject
from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    ToolDefinition,
    Usage,
)
from gateval.wire.base import SseEvent, SseReader, WireError, write_event
from gateval.wire.registry import WIRE_FORMATS
from tests.helpers.tiers import examples

# A loaded machine is slow, which says nothing about the code.
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(60)
)

OPENAI = WIRE_FORMATS["openai-chat"]
RESPONSES = WIRE_FORMATS["openai-responses"]
ANTHROPIC = WIRE_FORMATS["anthropic-messages"]
GEMINI = WIRE_FORMATS["gemini-content"]

# Text with NUL, controls and astral characters, but without lone surrogates, which no UTF-8 has.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, max_size=3)
calls = st.builds(ToolCall, id=words, name=words, arguments=objects)
broken_calls = st.builds(
    ToolCall,
    id=words,
    name=words,
    raw=words.map(lambda text: f"{{{text}").filter(lambda text: not _is_json(text)),
)
tools = st.lists(
    st.builds(ToolDefinition, name=words, description=texts, input_schema=objects), max_size=2
).map(tuple)
temperatures = st.none() | st.floats(0, 2)
counts = st.none() | st.integers(0, 10**12)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def tuples(strategy: st.SearchStrategy[Any], max_size: int) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=max_size).map(tuple)


openai_messages = st.one_of(
    st.builds(Message, role=st.sampled_from(["system", "user"]), text=texts),
    st.builds(
        Message,
        role=st.just("assistant"),
        text=texts,
        tool_calls=tuples(calls | broken_calls, max_size=2),
    ),
    st.builds(Message, role=st.just("tool"), text=texts, tool_call_id=texts),
)
openai_requests = st.builds(
    ModelRequest,
    model=words,
    messages=tuples(openai_messages, 4),
    tools=tools,
    temperature=temperatures,
    max_tokens=counts,
)


@st.composite
def anthropic_requests(draw: st.DrawFn) -> ModelRequest:
    """Requests as the format can say them: system first, turns alternating, no empty texts."""
    systems = st.builds(Message, role=st.just("system"), text=words)
    messages = draw(st.lists(systems, max_size=2))
    for _ in range(draw(st.integers(0, 3))):
        results = st.builds(
            Message,
            role=st.just("tool"),
            text=texts,
            tool_call_id=words,
            is_error=st.booleans(),
        )
        messages += draw(st.lists(results, max_size=2))
        messages.append(Message(role="user", text=draw(words)))
        called = draw(tuples(calls, 2))
        said = draw(texts if called else words)
        messages.append(Message(role="assistant", text=said, tool_calls=called))
    return ModelRequest(
        model=draw(words),
        messages=tuple(messages),
        tools=draw(tools),
        temperature=draw(temperatures),
        max_tokens=draw(st.integers(0, 10**6)),
    )


@st.composite
def replies(draw: st.DrawFn, *, may_break: bool) -> ModelReply:
    called = draw(tuples(calls | broken_calls if may_break else calls, max_size=2))
    without_end = [stop for stop in StopReason if stop is not StopReason.END]
    return ModelReply(
        text=draw(texts),
        tool_calls=called,
        stop=draw(st.sampled_from(without_end if called else [*StopReason])),
        usage=draw(usages),
        model=draw(words),
    )


asked = ModelRequest(model="asked", messages=())


@unhurried
@given(openai_requests)
def test_openai_requests_come_back(request: ModelRequest) -> None:
    assert OPENAI.decode_request(OPENAI.encode_request(request)) == request


@unhurried
@given(anthropic_requests())
def test_anthropic_requests_come_back(request: ModelRequest) -> None:
    assert ANTHROPIC.decode_request(ANTHROPIC.encode_request(request)) == request


def as_it_comes(request: ModelRequest) -> bytes:
    """A request of Google's, as the server hands it on: with the model of its address."""
    sent = GEMINI.encode_request(request.model_copy(update={"model": "gemini-3"}))
    return json.dumps({**json.loads(sent), "model": request.model}).encode()


@unhurried
@given(anthropic_requests())
def test_gemini_requests_come_back(request: ModelRequest) -> None:
    assert GEMINI.decode_request(as_it_comes(request)) == request


@unhurried
@given(openai_requests)
def test_any_request_can_be_said_in_geminis_format(request: ModelRequest) -> None:
    """Bent once, a request stays as it is."""
    once = GEMINI.decode_request(as_it_comes(request))
    assert GEMINI.decode_request(as_it_comes(once)) == once
    contents = json.loads(as_it_comes(request))["contents"]
    assert all(one["role"] != other["role"] for one, other in itertools.pairwise(contents))


@unhurried
@given(replies(may_break=False))
def test_gemini_replies_come_back(reply: ModelReply) -> None:
    stop = reply.stop
    if stop is StopReason.TOOL_CALLS and not reply.tool_calls:
        stop = StopReason.END
    whole = reply.model_copy(update={"stop": stop})
    assert GEMINI.decode_reply(GEMINI.encode_reply(whole, asked)) == whole


@unhurried
@given(replies(may_break=True))
def test_openai_replies_come_back(reply: ModelReply) -> None:
    assert OPENAI.decode_reply(OPENAI.encode_reply(reply, asked)) == reply


@unhurried
@given(replies(may_break=False))
def test_anthropic_replies_come_back(reply: ModelReply) -> None:
    assert ANTHROPIC.decode_reply(ANTHROPIC.encode_reply(reply, asked)) == reply


@unhurried
@given(openai_requests)
def test_any_request_can_be_said_in_anthropics_format(request: ModelRequest) -> None:
    """Bent once, a request stays as it is."""
    once = ANTHROPIC.decode_request(ANTHROPIC.encode_request(request))
    assert ANTHROPIC.decode_request(ANTHROPIC.encode_request(once)) == once
    roles = [turn["role"] for turn in json.loads(ANTHROPIC.encode_request(request))["messages"]]
    assert all(one != other for one, other in itertools.pairwise(roles))


@unhurried
@given(openai_requests)
def test_any_request_can_be_said_in_the_responses_format(request: ModelRequest) -> None:
    """What one reply says in several items becomes one message; said once more, it stays so."""
    once = RESPONSES.decode_request(RESPONSES.encode_request(request))
    assert RESPONSES.decode_request(RESPONSES.encode_request(once)) == once
    assert (once.tools, once.temperature) == (request.tools, request.temperature)
    spoken = [one for one in request.messages if one.role != "assistant"]
    assert [one for one in once.messages if one.role != "assistant"] == spoken


@unhurried
@given(replies(may_break=True))
def test_responses_come_back(reply: ModelReply) -> None:
    whole = reply.model_copy(update={"stop": possible(reply), "id": "resp_7"})
    assert RESPONSES.decode_reply(RESPONSES.encode_reply(whole, asked)) == whole


def possible(reply: ModelReply) -> StopReason:
    """A stop that the Responses format can express for this reply."""
    if reply.stop is StopReason.LENGTH:
        return StopReason.LENGTH
    if reply.stop is StopReason.REFUSAL and (reply.text or not reply.tool_calls):
        return StopReason.REFUSAL
    return StopReason.TOOL_CALLS if reply.tool_calls else StopReason.END


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The data in pieces."""
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(borders)]


@pytest.mark.parametrize("name", WIRE_FORMATS)
@unhurried
@given(
    reply=replies(may_break=False),
    places=st.lists(st.integers(0, 10**6), max_size=30),
    line_end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_a_stream_says_what_the_whole_reply_says(
    name: str, reply: ModelReply, places: list[int], line_end: bytes
) -> None:
    wire = stream = WIRE_FORMATS[name]
    asks: JsonObject = {"stream_options": {"include_usage": True}}
    events = list(stream.encode_stream(reply, asked, asks))
    sent = b": hello\n\n" + b"".join(map(write_event, events))
    source, reader = SseReader(), stream.stream_reader(asks)
    for piece in cut(sent.replace(b"\n", line_end), places):
        for event in source.feed(piece):
            heard = reader.read(event)
            assert not heard.error
            assert not heard.hidden
    assert reader.reply() == wire.decode_reply(wire.encode_reply(reply, asked))


@pytest.mark.parametrize("name", WIRE_FORMATS)
@unhurried
@given(reply=replies(may_break=False), lost=st.integers(1, 1000))
def test_a_stream_that_breaks_off_is_no_reply(name: str, reply: ModelReply, lost: int) -> None:
    stream = WIRE_FORMATS[name]
    events = list(stream.encode_stream(reply, asked, {}))
    # A finish without the closing word is whole enough for OpenAI's older format.
    last = 2 if name == "openai-chat" else 1
    kept = events[: max(len(events) - last - lost % len(events), 0)]
    reader = stream.stream_reader({})
    for event in kept:
        reader.read(event)
    reader.so_far()
    with pytest.raises(WireError, match="broke off"):
        reader.reply()


@pytest.mark.parametrize("name", WIRE_FORMATS)
@unhurried
@given(draws=st.data())
def test_reading_any_event_ends_in_a_value_or_a_wire_error(name: str, draws: st.DataObject) -> None:
    stream = WIRE_FORMATS[name]
    events = list(stream.encode_stream(draws.draw(replies(may_break=False)), asked, {}))
    reader = stream.stream_reader({})
    for event in events:
        data = (event.data or "").encode()
        if data.startswith(b"{") and draws.draw(st.booleans()):
            data = draws.draw(spoilt(st.just(data)))
        with contextlib.suppress(WireError):
            reader.read(SseEvent(event.name, data.decode()))
    reader.so_far()
    with contextlib.suppress(WireError):
        reader.reply()


@pytest.mark.parametrize("name", WIRE_FORMATS)
@unhurried
@given(message=words)
def test_an_error_in_a_stream_comes_back(name: str, message: str) -> None:
    stream = WIRE_FORMATS[name]
    (event,) = SseReader().feed(write_event(stream.encode_stream_error(message)))
    heard = stream.stream_reader({}).read(event)
    assert (heard.ends, heard.error) == (True, " ".join(message.split()) or heard.error)


def paths(value: object) -> list[list[Any]]:
    """The way to each node of a JSON value."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    return [[], *([key, *rest] for key, each in inner for rest in paths(each))]


@st.composite
def spoilt(draw: st.DrawFn, bodies: st.SearchStrategy[bytes]) -> bytes:
    """A good body in which one node is something else, or gone."""
    whole = {"body": json.loads(draw(bodies))}
    path = draw(st.sampled_from([way for way in paths(whole) if way]))
    node: Any = whole
    for key in path[:-1]:
        node = node[key]
    if draw(st.booleans()):
        node[path[-1]] = draw(
            st.none() | st.integers() | st.floats() | texts | st.just([[]]) | objects
        )
    else:
        del node[path[-1]]
    return json.dumps(whole.get("body")).encode()


bodies = {
    "openai-chat": openai_requests.map(OPENAI.encode_request)
    | replies(may_break=True).map(lambda reply: OPENAI.encode_reply(reply, asked)),
    "openai-responses": openai_requests.map(RESPONSES.encode_request)
    | replies(may_break=True).map(lambda reply: RESPONSES.encode_reply(reply, asked)),
    "anthropic-messages": anthropic_requests().map(ANTHROPIC.encode_request)
    | replies(may_break=False).map(lambda reply: ANTHROPIC.encode_reply(reply, asked)),
    "gemini-content": anthropic_requests().map(as_it_comes)
    | replies(may_break=False).map(lambda reply: GEMINI.encode_reply(reply, asked)),
}


@pytest.mark.parametrize("name", WIRE_FORMATS)
@unhurried
@given(draws=st.data())
def test_reading_anything_ends_in_a_value_or_a_wire_error(name: str, draws: st.DataObject) -> None:
    wire = WIRE_FORMATS[name]
    data = draws.draw(spoilt(bodies[name]) | st.binary(max_size=60))
    for read in (wire.decode_request, wire.decode_reply):
        with contextlib.suppress(WireError):
            read(data)
    assert len(wire.decode_error(data)) <= 300


@pytest.mark.parametrize("name", WIRE_FORMATS)
@unhurried
@given(status=st.integers(400, 599), message=texts)
def test_errors_come_back(name: str, status: int, message: str) -> None:
    wire = WIRE_FORMATS[name]
    said = wire.decode_error(wire.encode_error(status, message))
    assert said == " ".join(message.split())


HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"\xff\xfe",
    b"\x00",
    b'{"model": NaN}',
    b"[" * 200_000,
    b'{"a":' * 600 + b"1" + b"}" * 600,
    b'{"model": "m", "messages": [' + b"9" * 5000 + b"]}",
    b'{"model": "m", "temperature": 1e999, "messages": []}',
]


@pytest.mark.parametrize("name", WIRE_FORMATS)
@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_bytes_are_refused(name: str, data: bytes) -> None:
    wire = WIRE_FORMATS[name]
    with pytest.raises(WireError):
        wire.decode_request(data)
    with pytest.raises(WireError):
        wire.decode_reply(data)
    wire.decode_error(data)
