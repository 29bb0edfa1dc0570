"""Streams through the local server: every format, every border, every way to end early."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.trace import StepKind, Trace
from gateval.domain.trials.trial import Cause, Side
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from tests.helpers import official
from tests.helpers.gateway import (
    ASKED,
    CANARY,
    CHAT,
    MESSAGES,
    RESPONSES,
    address,
    ask_openai,
    begun,
    called,
    errors,
    send,
    serve,
)
from tests.servers.model_server import (
    Answer,
    Call,
    ModelServer,
    failure,
    in_turn,
    reply,
    streamed,
)

TEXT = "Gr\u00fc\u00dfe \u2014 your order \U0001f600 is open."
TOOLS: list[tuple[str, str, dict[str, Any]]] = [
    ("a", "look", {"order": 7, "name": "\u00e4"}),
    ("b", "look", {"order": 8}),
]
PATHS = {CHAT: "openai-chat", MESSAGES: "anthropic", RESPONSES: "openai-responses"}


def body(path: str, **more: Any) -> dict[str, Any]:
    if path == RESPONSES:
        return {"model": "m", "input": "hi", **more}
    limit = {"max_tokens": 9} if path == MESSAGES else {}
    return {**ASKED, **limit, **more}


def openai_client(session: Session) -> official.openai.AsyncOpenAI:
    environment = session.environment()
    return official.openai.AsyncOpenAI(
        base_url=environment["OPENAI_BASE_URL"], api_key=environment["OPENAI_API_KEY"]
    )


def anthropic_client(session: Session) -> official.anthropic.AsyncAnthropic:
    environment = session.environment()
    return official.anthropic.AsyncAnthropic(
        base_url=environment["ANTHROPIC_BASE_URL"], api_key=environment["ANTHROPIC_API_KEY"]
    )


async def read_chat(session: Session, **more: Any) -> tuple[str, list[tuple[str, str]]]:
    async with openai_client(session) as client:
        text = ""
        calls: dict[int, tuple[str, str]] = {}
        stream = await client.chat.completions.create(**{**ASKED, **more}, stream=True)
        async for chunk in stream:
            assert chunk.choices, "a chunk that was not asked for"
            delta = chunk.choices[0].delta
            text += delta.content or ""
            for call in delta.tool_calls or ():
                name, arguments = calls.get(call.index, ("", ""))
                function = call.function
                assert function is not None
                calls[call.index] = (
                    name + (function.name or ""), arguments + (function.arguments or ""),
                )  # fmt: skip
        return text, list(calls.values())


async def read_messages(session: Session) -> tuple[str, list[tuple[str, str]]]:
    async with (
        anthropic_client(session) as client,
        client.messages.stream(max_tokens=9, **ASKED) as stream,
    ):
        message = await stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [
        (block.name, json.dumps(block.input))
        for block in message.content
        if block.type == "tool_use"
    ]
    return text, calls


async def read_responses(session: Session) -> tuple[str, list[tuple[str, str]]]:
    async with (
        openai_client(session) as client,
        client.responses.stream(model="m", input="hi") as stream,
    ):
        response = await stream.get_final_response()
    calls = [
        (item.name, item.arguments) for item in response.output if item.type == "function_call"
    ]
    return response.output_text, calls


READERS: dict[str, Callable[[Session], Any]] = {
    CHAT: read_chat,
    MESSAGES: read_messages,
    RESPONSES: read_responses,
}


def comparable(trace: Trace | None) -> Trace:
    """A trace without what differs from run to run."""
    assert trace is not None
    steps = tuple(step.model_copy(update={"seconds": None}) for step in trace.steps)
    return trace.model_copy(update={"steps": steps})


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("size", [None, 1, 7, 100_000])
def test_a_stream_gives_what_the_whole_reply_gives(path: str, size: int | None) -> None:
    """Whatever the pieces: to the SDK, and in the trace."""

    def respond(call: Call) -> Answer:
        if call.streams:
            return streamed(call, TEXT, tools=TOOLS, size=size)
        return reply(call, TEXT, tools=TOOLS)

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        status, _, _ = await send(session, path, json=body(path))
        assert status == 200
        whole = comparable(session.end())
        session.begin()
        text, calls = await READERS[path](session)
        assert text == TEXT
        assert [(name, json.loads(given)) for name, given in calls] == [
            (name, given) for _, name, given in TOOLS
        ]
        assert comparable(session.end()) == whole
        assert whole.usage.total == 15
        assert [step.kind for step in whole.steps] == [
            "user", "assistant", "tool_call", "tool_call",
        ]  # fmt: skip

    serve(use, respond)


SCRIPT = ScriptedModel(
    name="s",
    path=".gateval/scripted/s.yaml",
    digest="0",
    spec=ScriptedSpec.model_validate(
        {
            "rules": [
                {
                    "reply": TEXT,
                    "toolCalls": [
                        {"name": name, "arguments": arguments} for _, name, arguments in TOOLS
                    ],
                }
            ]
        }
    ),
)


@pytest.mark.parametrize("path", PATHS)
def test_scripted_models_stream_too(path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, "scripted/m")
        text, calls = await READERS[path](session)
        assert text == TEXT
        assert [json.loads(given) for _, given in calls] == [given for _, _, given in TOOLS]
        trace = session.end()
        assert trace is not None
        assert trace.models == ("scripted/m",)
        assert len(trace.tool_calls()) == 2

    serve(use, scripts={Side.HEAD: {"m": SCRIPT}})


@pytest.mark.parametrize("path", PATHS)
def test_a_model_of_another_format_streams_too(path: str) -> None:
    """A Messages client that asks for one of OpenAI's models, and the other way round."""
    other = "openai/m" if path == MESSAGES else "anthropic/m"

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, other)
        text, calls = await READERS[path](session)
        assert (text, len(calls)) == (TEXT, 2)
        assert not provider.calls[0].streams
        trace = session.end()
        assert trace is not None
        assert (trace.models, trace.usage.total) == ((other,), 15)

    serve(use, lambda call: reply(call, TEXT, tools=TOOLS))


def test_usage_is_asked_for_and_shown_to_who_asked() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        _, quiet, headers = await send(session, json={**ASKED, "stream": True})
        assert headers["Content-Type"].startswith("text/event-stream")
        assert b"prompt_tokens" not in quiet
        assert provider.calls[0].body["stream_options"] == {"include_usage": True}
        options = {"include_usage": True, "include_obfuscation": False}
        _, asked, _ = await send(session, json={**ASKED, "stream": True, "stream_options": options})
        assert asked.count(b"prompt_tokens") == 1
        assert provider.calls[1].body["stream_options"] == options
        assert quiet.endswith(b"data: [DONE]\n\n")
        assert asked.endswith(b"data: [DONE]\n\n")
        trace = session.end()
        assert trace is not None
        assert trace.usage.total == 30

    serve(use)


def test_signs_of_life_are_passed_on_without_their_words() -> None:
    def respond(call: Call) -> Answer:
        answer = streamed(call, "hi")
        return Answer(pieces=(f": {CANARY}\n\n".encode(), *answer.pieces))

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        _, got, _ = await send(session, json={**ASKED, "stream": True})
        assert got.startswith(b":\n\n")
        assert b"canary" not in got

    serve(use, respond)


def test_pieces_arrive_as_they_come() -> None:
    """Not when all is there: the first word is here before the provider has said the last."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        async with openai_client(session) as client:
            loop = asyncio.get_running_loop()
            stream = await client.chat.completions.create(**ASKED, stream=True)
            times = [loop.time() async for _ in stream]
            assert times[-1] - times[0] > 0.3

    serve(use, lambda call: streamed(call, "one two three four five six", pause=0.1))


@pytest.mark.parametrize("path", PATHS)
def test_a_drop_before_the_first_byte_is_tried_again(path: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\r\n"
    begins = Answer(raw=head)

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        text, _ = await READERS[path](session)
        assert text == "hi"
        assert len(provider.calls) == 2
        trace = session.end()
        assert trace is not None
        assert [(step.text, step.retries) for step in trace.steps] == [("hi", 0), ("hi", 1)]

    serve(use, in_turn(lambda call: begins, lambda call: reply(call, "hi")))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("ends", ["drop", "early"])
def test_a_stream_that_breaks_off_is_an_error_for_all(path: str, ends: str) -> None:
    def respond(call: Call) -> Answer:
        pieces = streamed(call, "One moment please").pieces
        return Answer(pieces=pieces[:4], drop=ends == "drop", pause=0.01)

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        with pytest.raises((official.openai.APIError, official.anthropic.APIError)) as caught:
            await READERS[path](session)
        assert "closed the connection" in str(caught.value) or "broke off" in str(caught.value)
        assert len(provider.calls) == 1
        trouble = session.trouble(100)
        assert trouble is not None
        assert trouble.cause is Cause.PROVIDER
        assert len(errors(session.end())) == 1

    serve(use, respond)


def test_an_error_of_the_provider_in_mid_stream_is_passed_on() -> None:
    def respond(call: Call) -> Answer:
        pieces = streamed(call, "One moment").pieces[:3]
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        end = f"event: error\ndata: {json.dumps(error)}\n\n".encode()
        return Answer(pieces=(*pieces, end))

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        with pytest.raises(official.anthropic.APIStatusError) as caught:
            await read_messages(session)
        assert "overloaded_error" in str(caught.value)
        trace = session.end()
        assert errors(trace) == ["anthropic ended its stream with an error: Overloaded."]

    serve(use, respond)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("code", [400, 401, 429, 503])
def test_errors_before_the_stream_have_their_status(path: str, code: int) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        with pytest.raises(
            (official.openai.APIStatusError, official.anthropic.APIStatusError)
        ) as caught:
            await READERS[path](session)
        assert isinstance(
            caught.value, official.openai.APIStatusError | official.anthropic.APIStatusError
        )
        assert caught.value.status_code == code
        assert len(provider.calls) == (2 if code in {429, 503} else 1)
        assert len(errors(session.end())) == 1

    serve(use, lambda call: failure(call, code, "no"))


@pytest.mark.parametrize("path", PATHS)
def test_a_provider_that_does_not_stream_is_passed_on_as_a_stream(path: str) -> None:
    def respond(call: Call) -> Answer:
        return reply(Call(call.path, call.headers, b"{}"), "hi")

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        text, _ = await READERS[path](session)
        assert text == "hi"
        trace = session.end()
        assert trace is not None
        assert [step.text for step in trace.steps] == ["hi", "hi"]

    serve(use, respond)


@pytest.mark.parametrize(
    "pieces",
    [
        (b"data: {no json\n\n",),
        (b"data: []\n\n",),
        (b"data: " + b"[" * 100_000 + b"\n\n",),
        (b"\xff\xfe\x00\n\n", b"<html>"),
        (b"\n\n\n\n",),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_streams_that_are_none(path: str, pieces: tuple[bytes, ...]) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        status, got, _ = await send(session, path, json=body(path, stream=True))
        assert status == 200
        assert b"error" in got
        assert len(errors(session.end())) == 1

    serve(use, lambda call: Answer(pieces=pieces))


@pytest.mark.parametrize("path", PATHS)
def test_a_candidate_that_has_heard_enough_ends_the_call(path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        headers = {"Authorization": f"Bearer {session.key}"}
        url = address(session) + path
        async with aiohttp.request("POST", url, json=body(path, stream=True), headers=headers) as r:
            got = b""
            while b"moment" not in got:
                got += await r.content.readany()
        await until(lambda: provider.connections == 0)
        trace = session.end()
        assert trace is not None
        assert [step.kind for step in trace.steps] == [StepKind.USER, StepKind.ASSISTANT]
        assert trace.steps[1].text.startswith("One moment")
        assert trace.usage.total is None

    serve(use, lambda call: streamed(call, "One moment please " * 50, pause=0.02))


@pytest.mark.parametrize("path", PATHS)
def test_the_end_of_a_trial_ends_its_streams(path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        waiting = asyncio.create_task(send(session, path, json=body(path, stream=True)))
        await called(provider)
        session.end()
        with pytest.raises(aiohttp.ClientError):
            await asyncio.wait_for(waiting, 30)
        await until(lambda: provider.connections == 0)

    serve(use, lambda call: streamed(call, "word " * 500, pause=0.05))


def test_a_stream_that_goes_on_is_no_late_model() -> None:
    """Half of the trial's time went by in one stream, but never without a sign of the model."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        reading = asyncio.create_task(read_chat(session))
        await called(provider)
        await asyncio.sleep(1.2)
        assert not reading.done()
        assert session.trouble(2) is None
        reading.cancel()

    serve(use, lambda call: streamed(call, "word " * 30, pause=0.1))


def test_a_stream_that_stands_still_is_a_late_model() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        reading = asyncio.create_task(read_chat(session))
        await called(provider)
        await until(lambda: session.trouble(0.6) is not None)
        reading.cancel()

    serve(use, lambda call: streamed(call, "word " * 8, pause=20))


def keys() -> list[str]:
    """The key in every form that is looked for."""
    coded = base64.b64encode(CANARY.encode()).decode()
    basic = base64.b64encode(f"user:{CANARY}".encode()).decode()
    return [CANARY, quote(CANARY), coded, basic]


@pytest.mark.parametrize("form", range(len(keys())))
@pytest.mark.parametrize("size", [1, 3, 5, 1000])
@pytest.mark.parametrize("path", PATHS)
def test_a_key_in_a_stream_does_not_come_through(path: str, size: int, form: int) -> None:
    """Neither in one event nor in the sum of many: a reader who joins them finds no key."""
    said = f"you sent {keys()[form]} to me"

    def respond(call: Call) -> Answer:
        words = [said[at : at + size] for at in range(0, len(said), size)]
        pieces = []
        for word in words:
            if call.is_anthropic:
                delta = {"type": "text_delta", "text": word}
                event = {"type": "content_block_delta", "index": 0, "delta": delta}
            elif call.is_responses:
                event = {"type": "response.output_text.delta", "delta": word}
            else:
                event = {"choices": [{"index": 0, "delta": {"content": word}}]}
            pieces.append(event)
        if call.is_anthropic:
            block = {"type": "text", "text": ""}
            start = {"type": "content_block_start", "index": 0, "content_block": block}
            pieces = [{"type": "message_start", "message": {}}, start, *pieces]
        return Answer(pieces=tuple(f"data: {json.dumps(piece)}\n\n".encode() for piece in pieces))

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        _, got, headers = await send(session, path, json=body(path, stream=True))
        joined = ""
        for line in got.decode().splitlines():
            if line.startswith("data: {"):
                joined += "".join(texts(json.loads(line.removeprefix("data: "))))
        trace = session.end()
        for where in (joined, got.decode(), str(headers), repr(trace)):
            assert all(key[4:-4] not in where for key in keys())

    serve(use, respond)


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts(each)]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another party's state, nothing to wait on
            await asyncio.sleep(0.01)


def test_words_that_look_like_the_beginning_of_a_key_come_through() -> None:
    said = f"{CANARY[:-1]}! sk-canary sk-"

    def respond(call: Call) -> Answer:
        return streamed(call, " ".join(said))

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        text, _ = await read_chat(begun(server))
        assert text == " ".join(said)

    serve(use, respond)


def test_the_model_is_asked_for_once_more_after_a_stream() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        await read_chat(session)
        await ask_openai(session)
        assert provider.connections == 1, "the connection of a stream that was read is used again"

    serve(use)
