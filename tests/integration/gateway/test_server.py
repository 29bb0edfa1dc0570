"""The local server at its borders: what it refuses, what it passes on, and what it never says."""

from __future__ import annotations

import asyncio
import io
import json

import aiohttp
import pytest

from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Side
from gateval.gateway.local.server import BODY_LIMIT, GatewayServer
from tests.helpers import official
from tests.helpers.gateway import (
    ASKED,
    CANARY,
    CHAT,
    MESSAGES,
    address,
    ask_anthropic,
    ask_openai,
    begun,
    called,
    errors,
    send,
    serve,
)
from tests.servers.model_server import Answer, Call, ModelServer, failure, reply


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", CHAT),
        ("DELETE", CHAT),
        ("POST", "/v1/models"),
        ("DELETE", "/v1/models/m"),
        ("GET", "/v1/files"),
        ("POST", "/v1/files"),
        ("DELETE", "/v1/files/file-1"),
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("POST", "/v1/v1/chat/completions"),
        ("POST", "/v2/chat/completions"),
        ("GET", "/v1/embeddings"),
        ("POST", "/v1/batches"),
        ("POST", "/azure/openai/files"),
        ("POST", "/azure/openai/deployments"),
        ("POST", "/azure/openai/deployments/d/files"),
        ("POST", "/azure/openai/deployments/../files/chat/completions"),
        ("POST", "/openrouter/v1/keys"),
        ("POST", "/openrouter/v1/credits"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/messages/"),
        ("POST", "//v1/messages"),
        ("POST", "/v1/../v1/organization/admin_api_keys"),
        ("GET", "/"),
    ],
)
def test_only_the_generation_endpoints_exist(method: str, path: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        status, body, _ = await send(session, path, method=method, json=ASKED)
        assert status == 404
        assert "This gateway has no" in json.loads(body)["error"]["message"]
        assert provider.calls == []
        assert session.end() is None

    serve(use)


def test_unknown_keys_are_refused_and_so_are_those_of_ended_candidates() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session, other = begun(server), begun(server, side=Side.BASE)
        assert session.key != other.key
        for key in ("", "sk-anything", session.key[:-1], CANARY):
            status, _, _ = await send(session, key=key, json=ASKED)
            assert status == 401
        session.close()
        with pytest.raises(official.openai.AuthenticationError, match="its candidate has ended"):
            await ask_openai(session)
        with pytest.raises(official.anthropic.AuthenticationError, match="its candidate has ended"):
            await ask_anthropic(session)
        assert provider.calls == []
        status, _, _ = await send(other, json=ASKED)
        assert status == 200

    serve(use)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b'{"model": "m"', 400),
        (b'{"messages": []}', 400),
        (b"[" * 100_000, 400),
        (b'{"model": "' + b"x" * BODY_LIMIT + b'"}', 413),
    ],
    ids=["nothing", "list", "cut", "no model", "deep", "huge"],
)
def test_bodies_that_are_none(body: bytes, status: int) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        for path in (CHAT, MESSAGES):
            session = begun(server)
            got, answer, _ = await send(session, path, data=io.BytesIO(body))
            assert got == status
            assert json.loads(answer)["error"]["message"]
        assert provider.calls == []

    serve(use)


def test_what_the_neutral_form_does_not_know_survives_both_ways() -> None:
    extra = {"response_format": {"type": "json_object"}, "seed": 7, "metadata": {"a": "b"}}
    answer = {
        "choices": [{"message": {"content": "hi"}, "finish_reason": "stop", "logprobs": {"x": 1}}],
        "model": "served",
        "system_fingerprint": "fp",
    }

    def respond(call: Call) -> Answer:
        secret = {"x-request-id": "r1", "Set-Cookie": "a=b", "openai-organization": "org"}
        return Answer(body=json.dumps(answer).encode(), headers=secret)

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server, "openai/gpt-5")
        asked = {**ASKED, **extra, "model": "openai/gpt-5"}
        status, body, headers = await send(session, json=asked, params={"beta": "true"})
        assert (status, json.loads(body)) == (200, answer)
        assert provider.calls[0].body == {**asked, "model": "gpt-5"}
        assert provider.calls[0].path == CHAT
        known = {"Content-Type", "Content-Length", "Date", "Server", "Connection"}
        assert set(headers) <= known
        assert headers["Content-Type"].startswith("application/json")
        trace = session.end()
        assert trace is not None
        assert trace.models == ("openai/gpt-5",)

    serve(use, respond)


@pytest.mark.parametrize(
    "sent",
    [
        b"::error::forged\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\n::error::forged\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_nothing_a_candidate_sends_reaches_the_log(
    sent: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        port = int(address(session).rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent.replace(b"Host: x", f"Host: x\r\nx-api-key: {session.key}".encode()))
        writer.write_eof()
        await reader.read()
        writer.close()
        status, _, _ = await send(session, json=ASKED)
        assert status == 200

    serve(use)
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_long_histories_pass() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        long = [{"role": "user", "content": "x" * 3_000_000}]
        await ask_openai(session, messages=long)
        assert provider.calls[0].body["messages"] == long

    serve(use)


def test_no_header_of_the_candidate_reaches_the_provider() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        extra = {"anthropic-beta": "files-api", "X-Forwarded-Host": "evil"}
        await ask_anthropic(session, extra_headers=extra)
        sent = provider.calls[0].headers
        assert sent["x-api-key"] == CANARY
        assert not {"anthropic-beta", "x-forwarded-host", "authorization"} & set(sent)
        assert session.key not in str(sent)

    serve(use)


def test_errors_of_the_provider_are_passed_on_without_its_headers_and_keys() -> None:
    def respond(call: Call) -> Answer:
        answer = failure(call, 400, f"Too long for {CANARY}", x_request_id="r1", x_key=CANARY)
        return Answer(400, answer.body.replace(b"some_error", b"too_long"), answer.headers)

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        with pytest.raises(official.openai.BadRequestError) as caught:
            await ask_openai(session)
        assert caught.value.type == "too_long"
        with pytest.raises(official.anthropic.BadRequestError, match="Too long"):
            await ask_anthropic(session)
        _, body, headers = await send(session, json=ASKED)
        trace = session.end()
        assert CANARY not in f"{caught.value} {body!r} {headers} {trace!r}"
        assert "x-request-id" not in headers
        assert errors(trace)[0].endswith("Too long for [key removed].")

    serve(use, respond)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Answer(503, b"<html>busy</html>"), 503),
        (Answer(429, b"{}"), 429),
        (Answer(drop=True), 503),
        (Answer(body=b"<html>Welcome</html>"), 502),
        (Answer(body=b"data: {}\n\n", headers={"Content-Type": "text/event-stream"}), 502),
        (Answer(302, b"", {"Location": "http://169.254.169.254/"}), 502),
        (Answer(404, b"nothing here"), 404),
    ],
)
def test_a_provider_in_trouble(answer: Answer, status: int) -> None:
    """The candidate gets the trouble in its own format, and its SDK does not try again."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        tries = 2 if status in {429, 503} or answer.status == 200 else 1
        with pytest.raises(official.openai.APIStatusError) as caught:
            await ask_openai(session)
        assert caught.value.status_code == status
        assert len(provider.calls) == tries
        with pytest.raises(official.anthropic.APIStatusError) as also:
            await ask_anthropic(session)
        assert also.value.status_code == status
        assert len(provider.calls) == 2 * tries
        assert len(errors(session.end())) == 2

    serve(use, lambda call: answer)


def test_a_model_that_is_not_set_up() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        with pytest.raises(official.openai.BadRequestError, match="needs VLLM_BASE_URL"):
            await ask_openai(session, model="vllm/x")

    serve(use)


def test_the_end_of_a_trial_ends_its_calls() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        waiting = asyncio.create_task(send(session, json=ASKED))
        await called(provider)
        assert session.end() is None
        with pytest.raises(aiohttp.ClientError):
            await asyncio.wait_for(waiting, 30)
        assert session.end() is None

    serve(use, lambda call: reply(call, "late", delay=60))


def test_closing_a_session_ends_its_calls() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        waiting = asyncio.create_task(send(session, json=ASKED))
        await called(provider)
        session.close()
        with pytest.raises(aiohttp.ClientError):
            await asyncio.wait_for(waiting, 30)

    serve(use, lambda call: reply(call, "late", delay=60))


def test_calls_between_trials_are_refused_and_counted() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = server.open(Side.HEAD, ())
        with pytest.raises(official.openai.PermissionDeniedError, match="No trial is under way"):
            await ask_openai(session)
        assert (session.stray, session.end(), provider.calls) == (1, None, [])
        session.begin()
        await ask_openai(session)
        assert session.end() is not None
        with pytest.raises(official.anthropic.PermissionDeniedError, match="No trial is under way"):
            await ask_anthropic(session)
        assert (session.stray, len(provider.calls)) == (2, 1)

    serve(use)


def test_each_trial_of_an_instance_has_its_own_trace() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = server.open(Side.HEAD, ())
        for said in ("one", "two", "two"):
            session.begin()
            await send(session, json={**ASKED, "messages": [{"role": "user", "content": said}]})
            trace = session.end()
            assert trace is not None
            assert [step.text for step in trace.steps] == [said, "hi"]
        assert session.stray == 0

    serve(use)


def test_the_trouble_of_one_trial_is_not_the_next_ones() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        await send(session, json=ASKED)
        trouble = session.trouble(10)
        assert trouble is not None
        assert "openai answered 503" in trouble.reason
        session.begin()
        assert session.trouble(10) is None

    serve(use, lambda call: failure(call, 503, "down"))


def test_a_candidate_that_goes_away_ends_its_calls() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        waiting = asyncio.create_task(send(session, json=ASKED))
        await called(provider)
        waiting.cancel()
        async with asyncio.timeout(30):
            while provider.connections:  # noqa: ASYNC110 - another party's state
                await asyncio.sleep(0.01)

    serve(use, lambda call: reply(call, "late", delay=60))


def test_sessions_do_not_mix() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        sessions = [begun(server) for _ in range(20)]

        async def talk(number: int) -> Trace | None:
            said = [{"role": "user", "content": f"I am {number}"}]
            await send(sessions[number], json={"model": "m", "messages": said})
            return sessions[number].end()

        traces = await asyncio.gather(*(talk(number) for number in range(20)))
        for number, trace in enumerate(traces):
            assert trace is not None
            assert [step.text for step in trace.steps] == [f"I am {number}", "hi"]

    serve(use)


def test_the_environment_of_a_candidate_holds_no_key_of_a_provider() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        environment = server.open(Side.HEAD, ()).environment()
        assert sorted(environment) == [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "AZURE_OPENAI_API_KEY",
            "AZURE_OPENAI_ENDPOINT",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "OPENROUTER_API_KEY",
            "OPENROUTER_BASE_URL",
        ]
        assert CANARY not in str(environment)
        assert environment["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
        assert str(provider.port) not in str(environment)

    serve(use)
