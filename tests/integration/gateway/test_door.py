"""The inner function of the gateway against a real server on loopback."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gateval.domain.manifests.evaluation import ScriptedModel, ScriptedSpec
from gateval.domain.trials.model_call import (
    Message,
    ModelReply,
    ModelRequest,
    StopReason,
    ToolCall,
    ToolDefinition,
    Usage,
)
from gateval.domain.trials.trial import Cause, Side
from gateval.gateway.door import Gateway
from gateval.gateway.ledger import Taken
from gateval.gateway.peers import Allowed, nobody_tells
from gateval.gateway.upstream.endpoints import read_upstreams
from gateval.gateway.upstream.http_client import ANSWER_LIMIT, Timeouts
from gateval.gateway.upstream.retry import RetryPolicy
from gateval.ports.model_calls import ModelCallError, ModelCallFault, ModelCalls
from tests.helpers.certificates import self_signed
from tests.helpers.gateway import called
from tests.servers.model_server import (
    Answer,
    Call,
    ModelServer,
    Responder,
    failure,
    in_turn,
    reply,
    unreliable,
)
from tests.servers.tls_front import TlsFront

CANARY = "sk-canary-0123456789abcdef"
QUICK = RetryPolicy(attempts=3, first_wait=0.01, longest_wait=0.02)
HELLO = ModelRequest(model="ignored", messages=(Message(role="user", text="hello"),))


def hello(call: Call) -> Answer:
    return reply(call, "hi")


def environ(server: ModelServer) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": server.openai_url,
        "OPENAI_API_KEY": CANARY,
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": CANARY,
    }


def ask(
    respond: Responder,
    *,
    model: str = "openai/gpt",
    request: ModelRequest = HELLO,
    policy: RetryPolicy = QUICK,
    timeouts: Timeouts | None = None,
) -> tuple[ModelReply | ModelCallError, list[Call]]:
    """Make one call, and return its reply or error, and what the server saw."""

    async def run() -> tuple[ModelReply | ModelCallError, list[Call]]:
        async with ModelServer(respond) as server:
            upstreams = read_upstreams(environ(server))
            async with Gateway(upstreams, {}, policy=policy, timeouts=timeouts) as gateway:
                door: ModelCalls = gateway
                try:
                    return await door.call(model, request, side=Side.HEAD), server.calls
                except ModelCallError as error:
                    return error, server.calls

    return asyncio.run(run())


def fails(respond: Responder, fault: ModelCallFault, **more: object) -> ModelCallError:
    error, _ = ask(respond, **more)  # type: ignore[arg-type]  # handed through as they are
    assert isinstance(error, ModelCallError)
    assert error.fault is fault
    assert CANARY not in error.message
    return error


@pytest.mark.parametrize("model", ["openai/gpt/x", "anthropic/gpt/x"])
def test_a_tool_round_trip(model: str) -> None:
    call = ToolCall(id="c1", name="look", arguments={"order": 7})
    request = ModelRequest(
        model="ignored",
        messages=(
            Message(role="system", text="You help."),
            Message(role="user", text="My order?"),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", text="open", tool_call_id="c1"),
        ),
        tools=(ToolDefinition(name="look", description="Look it up"),),
        temperature=0,
    )
    got, (sent,) = ask(
        lambda call: reply(call, "One moment", tools=[("c2", "look", {"order": 8})]),
        model=model,
        request=request,
    )
    assert isinstance(got, ModelReply)
    assert got.seconds is not None
    assert got == ModelReply(
        text="One moment",
        tool_calls=(ToolCall(id="c2", name="look", arguments={"order": 8}),),
        stop=StopReason.TOOL_CALLS,
        usage=Usage(input_tokens=10, output_tokens=5),
        model="served-model",
        seconds=got.seconds,
    )
    assert sent.body["model"] == "gpt/x"
    assert sent.body["tools"]
    if model.startswith("openai"):
        assert sent.path == "/v1/chat/completions"
        assert sent.headers["authorization"] == f"Bearer {CANARY}"
    else:
        assert sent.path == "/v1/messages"
        assert sent.headers["x-api-key"] == CANARY


def test_a_reply_that_names_no_model_gets_the_one_asked_for() -> None:
    body = b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}'
    got, _ = ask(lambda call: Answer(body=body))
    assert isinstance(got, ModelReply)
    assert (got.model, got.usage) == ("gpt", Usage())


@pytest.mark.parametrize(
    ("status", "fault", "cause"),
    [
        (400, ModelCallFault.REJECTED, Cause.CANDIDATE),
        (404, ModelCallFault.REJECTED, Cause.CANDIDATE),
        (422, ModelCallFault.REJECTED, Cause.CANDIDATE),
        (401, ModelCallFault.DENIED, Cause.PROVIDER),
        (403, ModelCallFault.DENIED, Cause.PROVIDER),
    ],
)
def test_refusals_are_final(status: int, fault: ModelCallFault, cause: Cause) -> None:
    error, calls = ask(lambda call: failure(call, status, f"Bad key {CANARY}, bad \n thing"))
    assert isinstance(error, ModelCallError)
    assert (error.fault, error.cause, error.status) == (fault, cause, status)
    assert error.message.endswith("Bad key [key removed], bad thing.")
    assert len(calls) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        lambda call: failure(call, 429, "slow down"),
        lambda call: failure(call, 500, "oops"),
        lambda call: failure(call, 529, "overloaded"),
        lambda call: Answer(drop=True),
        lambda call: Answer(body=b"x" * 100, cut=10),
    ],
)
def test_what_may_pass_is_tried_again(trouble: Responder) -> None:
    got, calls = ask(in_turn(trouble, trouble, hello))
    assert isinstance(got, ModelReply)
    assert len(calls) == 3

    error, calls = ask(trouble)
    assert isinstance(error, ModelCallError)
    assert (error.fault, error.cause) == (ModelCallFault.OUTAGE, Cause.PROVIDER)
    assert len(calls) == 3


def test_a_provider_may_forbid_to_try_again() -> None:
    error, calls = ask(lambda call: failure(call, 429, "quota", x_should_retry="false"))
    assert isinstance(error, ModelCallError)
    assert (error.fault, error.status) == (ModelCallFault.OUTAGE, 429)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "headers", [{"Retry-After": "0.3"}, {"retry-after-ms": "300", "Retry-After": "60"}]
)
def test_a_wait_that_is_asked_for_is_kept(headers: Mapping[str, str]) -> None:
    seen: list[float] = []

    def respond(call: Call) -> Answer:
        seen.append(time.monotonic())
        return Answer(429, b"{}", headers) if len(seen) == 1 else hello(call)

    got, _ = ask(respond)
    assert isinstance(got, ModelReply)
    assert 0.3 <= seen[1] - seen[0] < 50


def test_time_limits() -> None:
    slow: Responder = lambda call: reply(call, "late", delay=60)  # noqa: E731 - one of many lambdas
    began = time.monotonic()
    error = fails(slow, ModelCallFault.OUTAGE, timeouts=Timeouts(answer=0.1))
    assert error.message == "openai did not answer within 0.1 s."
    assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(body=b"<html>Welcome</html>"), "openai answered with no JSON"),
        (Answer(body=b'{"choices": []}'), "openai answered with a reply without choices."),
        (Answer(body=b'{"error": {"message": "no"}}'), "an error instead of a reply: no."),
        (Answer(raw=b"SSH-2.0-OpenSSH_9.2\r\n"), "openai sent no HTTP answer"),
        (Answer(body=b"x" * (ANSWER_LIMIT + 1)), "openai sent more than 20 MB."),
        (
            Answer(
                body=gzip.compress(b" " * (ANSWER_LIMIT + 1)),
                headers={"Content-Encoding": "gzip"},
            ),
            "openai sent more than 20 MB.",
        ),
    ],
)
def test_answers_that_are_none(answer: Answer, words: str) -> None:
    assert words in fails(lambda call: answer, ModelCallFault.UNREADABLE).message


def test_redirects_are_not_followed() -> None:
    async def run() -> None:
        async with ModelServer(hello) as elsewhere:
            to = {"Location": f"{elsewhere.openai_url}/chat/completions"}
            async with (
                ModelServer(lambda call: Answer(307, b"", to)) as server,
                Gateway(read_upstreams(environ(server)), {}) as gateway,
            ):
                with pytest.raises(ModelCallError, match="redirect, which is not followed"):
                    await gateway.call("openai/gpt", HELLO, side=Side.HEAD)
            assert elsewhere.calls == []

    asyncio.run(run())


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

        async def run() -> None:
            upstreams = read_upstreams({"VLLM_BASE_URL": f"http://127.0.0.1:{port}/v1"})
            async with Gateway(upstreams, {}, policy=QUICK) as gateway:
                await gateway.call("vllm/x", HELLO, side=Side.HEAD)

        with pytest.raises(ModelCallError, match="vllm cannot be reached") as caught:
            asyncio.run(run())
    assert caught.value.fault is ModelCallFault.OUTAGE


@pytest.mark.parametrize("way", ["untrusted", "a candidate", "nobody knows"])
def test_what_is_refused_before_anything_was_sent_costs_nothing(tmp_path: Path, way: str) -> None:
    allowed: dict[str, Allowed] = {
        "a candidate": lambda _: False,
        "nobody knows": nobody_tells(lambda: False),
    }

    async def run() -> None:
        async with ModelServer(hello) as server:
            with TlsFront(server.port, self_signed(tmp_path)) as front:
                there = environ(server)
                if way == "untrusted":
                    there["OPENAI_BASE_URL"] = f"{front.url}/v1"
                upstreams = read_upstreams(there)
                async with Gateway(
                    upstreams, {}, policy=QUICK, allowed=allowed.get(way)
                ) as gateway:
                    with pytest.raises(ModelCallError):
                        await gateway.call("openai/gpt", HELLO, side=Side.HEAD)
                    assert gateway.ledger.spent == gateway.ledger.held == Taken()
            assert server.calls == []

    asyncio.run(run())


def test_cookies_are_not_kept() -> None:
    async def run() -> list[Call]:
        with_cookie = {"Set-Cookie": "session=1; Path=/"}
        bodies = in_turn(lambda call: Answer(429, b"{}", with_cookie), hello)
        async with ModelServer(bodies) as server:
            async with Gateway(read_upstreams(environ(server)), {}, policy=QUICK) as gateway:
                await gateway.call("openai/gpt", HELLO, side=Side.HEAD)
            return server.calls

    assert all("cookie" not in call.headers for call in asyncio.run(run()))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("openrouter/x", "openrouter/x needs OPENROUTER_API_KEY."),
        ("opneai/x", 'Did you mean "openai"?'),
        ("gpt-5", "names no provider"),
        (
            "scripted/none",
            "No Agent of this run names scripted/none on head. Add it to spec.models",
        ),
    ],
)
def test_what_is_not_set_up(model: str, words: str) -> None:
    error = fails(hello, ModelCallFault.UNCONFIGURED, model=model)
    assert words in error.message
    assert error.cause is Cause.GATE


def test_scripted_models_answer_by_side() -> None:
    def script(text: str) -> ScriptedModel:
        rule = {"when": {"user": "hello"}, "reply": text, "latencySeconds": 0.05}
        spec = ScriptedSpec.model_validate({"rules": [rule]})
        return ScriptedModel(name="s", spec=spec, path=".gateval/scripted/s.yaml", digest="0")

    async def run() -> None:
        scripts = {Side.HEAD: {"s": script("new")}, Side.BASE: {"s": script("old")}}
        async with Gateway({}, scripts) as gateway:
            began = time.monotonic()
            head = await gateway.call("scripted/s", HELLO, side=Side.HEAD)
            base = await gateway.call("scripted/s", HELLO, side=Side.BASE)
            assert (head.text, base.text) == ("new", "old")
            assert time.monotonic() - began >= 0.09
            other = ModelRequest(model="", messages=(Message(role="user", text="bye"),))
            with pytest.raises(
                ModelCallError, match='which ends in the user message "bye"'
            ) as caught:
                await gateway.call("scripted/s", other, side=Side.HEAD)
            assert caught.value.fault is ModelCallFault.UNCONFIGURED

    asyncio.run(run())


def test_many_calls_at_once_survive_an_unreliable_provider() -> None:
    async def run() -> None:
        respond = unreliable(hello, seed=1, busy=0.1, broken=0.05, dropped=0.02)
        async with ModelServer(respond) as server:
            policy = RetryPolicy(attempts=8, first_wait=0.01, longest_wait=0.05)
            async with Gateway(read_upstreams(environ(server)), {}, policy=policy) as gateway:
                calls = (gateway.call("openai/gpt", HELLO, side=Side.HEAD) for _ in range(300))
                replies = await asyncio.gather(*calls)
        assert [each.text for each in replies] == ["hi"] * 300

    asyncio.run(run())


def test_a_cancelled_call_ends_at_once() -> None:
    async def run() -> None:
        async with ModelServer(lambda call: reply(call, "late", delay=30)) as server:
            async with Gateway(read_upstreams(environ(server)), {}) as gateway:
                calling = asyncio.ensure_future(gateway.call("openai/gpt", HELLO, side=Side.HEAD))
                await called(server)
                calling.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await calling
            assert len(server.calls) == 1

    asyncio.run(run())


def test_the_key_goes_nowhere_but_to_its_provider() -> None:
    """A mirror sends everything back that it got; in replies and errors the key is gone."""

    def mirror(call: Call) -> Answer:
        return reply(call, json.dumps(dict(call.headers)))

    got, _ = ask(mirror)
    assert isinstance(got, ModelReply)
    assert "[key removed]" in got.text
    assert CANARY not in got.text
