"""A candidate that takes too much hurts only itself."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from typing import Any

import aiohttp
import pytest

from gateval.domain.trials.trial import Cause, Side
from gateval.gateway.ledger import SpendingLimits
from gateval.gateway.local.server import REFUSALS_PER_SECOND, GatewayServer
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallLimits
from gateval.gateway.upstream.pace import RateLimiter
from tests.helpers.gateway import (
    ASKED,
    CHAT,
    HELLO,
    MESSAGES,
    address,
    begun,
    called,
    errors,
    send,
    serve,
)
from tests.servers.model_server import Answer, Call, ModelServer, reply


async def connect(session: Session) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(address(session).rpartition(":")[2]))


def head(session: Session, **headers: Any) -> bytes:
    lines = {"Host": "x", "x-api-key": session.key, **headers}
    text = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"POST {CHAT} HTTP/1.1\r\n{text}\r\n".encode()


async def goes_on(session: Session) -> None:
    """This candidate gets its answer, while another one's calls hang for a minute."""
    async with asyncio.timeout(20):
        status, _, _ = await send(session, json=ASKED)
    assert status == 200


def test_the_calls_of_a_trial_are_counted() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        got = [await send(session, json=ASKED) for _ in range(4)]
        assert [status for status, _, _ in got] == [200, 200, 429, 429]
        assert json.loads(got[3][1])["error"]["message"].startswith("A trial may make 2 model")
        assert got[3][2]["x-should-retry"] == "false"
        assert len(provider.calls) == 2
        trouble = session.trouble(100)
        assert trouble is not None
        assert trouble.cause is Cause.CANDIDATE, "its own fault, and we say which"
        assert trouble.reason.startswith("The gateway refused a call. A trial may make 2 model")
        assert len(errors(session.end())) == 1
        session.begin()
        await goes_on(session)

    serve(use, limits=CallLimits(calls=2))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (SpendingLimits(calls=2), "the 2 model calls that policy.gateway.callsPerRun gives"),
        (SpendingLimits(tokens=4_150), "of the 4,150 tokens that policy.gateway.tokensPerRun"),
    ],
)
def test_the_calls_and_tokens_of_a_run_are_counted(limits: SpendingLimits, words: str) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        for session in (begun(server), begun(server, side=Side.BASE)):
            await goes_on(session)
            assert session.trouble(100) is None
            session.close()
        late = begun(server)
        status, body, _ = await send(late, json={**ASKED, "max_tokens": 5_000})
        assert status == 429
        assert words in json.loads(body)["error"]["message"]
        trouble = late.trouble(100)
        assert trouble is not None
        assert trouble.cause is Cause.GATE, "others used it up"
        assert len(provider.calls) == 2

    serve(use, spending=limits)


@pytest.mark.parametrize("streams", [False, True])
def test_the_tokens_of_a_trial_are_counted(streams: bool) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        got = [await send(session, json={**ASKED, "stream": streams}) for _ in range(3)]
        assert [status for status, _, _ in got] == [200, 200, 429]
        assert b"A trial may use 20 tokens" in got[2][1]

    serve(use, limits=CallLimits(tokens=20))


def hangs(call: Call) -> Answer:
    return reply(call, "hi", delay=60 if b"flood" in call.raw else 0)


def flooding(provider: ModelServer) -> int:
    """How many calls of the flood have reached the provider."""
    return sum(b"flood" in call.raw for call in provider.calls)


def test_a_flood_of_calls_hurts_only_itself() -> None:
    """While one candidate sends 200 calls at once, another one's calls and the judge's go on."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session, other = begun(server), begun(server, side=Side.BASE)
        flood = {**ASKED, "messages": [{"role": "user", "content": "flood"}]}
        waiting = [asyncio.create_task(send(session, json=flood)) for _ in range(200)]
        async with asyncio.timeout(20):
            while sum(task.done() for task in waiting) < 188:  # noqa: ASYNC110 - no event for it
                await asyncio.sleep(0.01)
        for _ in range(3):
            await goes_on(other)
            async with asyncio.timeout(20):
                await server.gateway.call("openai/judge", HELLO, side=Side.HEAD)
        assert flooding(provider) == 4
        session.end()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        refused = [each[0] for each in ended if not isinstance(each, BaseException)]
        assert refused == [429] * 188, "all that neither had a turn nor waited for one"

    limits = CallLimits(at_once=4, waiting=8, per_second=1000, burst=1000)
    serve(use, hangs, limits=limits)


def test_large_bodies_wait_for_each_other_and_small_ones_do_not() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        large = {**ASKED, "messages": [{"role": "user", "content": "flood" * 1000}]}
        waiting = [asyncio.create_task(send(session, json=large)) for _ in range(3)]
        await called(provider)
        for _ in range(3):
            await goes_on(session)
        assert flooding(provider) == 1
        session.end()
        await asyncio.gather(*waiting, return_exceptions=True)

    serve(use, hangs, limits=CallLimits(large_bytes=2000))


def test_calls_that_come_too_fast_are_spread() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        began = time.monotonic()
        for _ in range(6):
            await send(session, json=ASKED)
        assert time.monotonic() - began >= 0.35

    serve(use, limits=CallLimits(per_second=10, burst=2))


def test_a_pace() -> None:
    pace = RateLimiter(per_second=1, burst=3)
    waits = [pace.wait() for _ in range(6)]
    assert waits[:3] == [0, 0, 0]
    assert waits[3:] == pytest.approx([1, 2, 3], abs=0.5)


def test_a_body_that_comes_too_slowly_is_given_up() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        slow, other = begun(server), begun(server)
        reader, writer = await connect(slow)
        writer.write(head(slow, Content_Length=100) + b"{")
        await goes_on(other)
        got = await asyncio.wait_for(reader.read(1000), 30)
        assert got.startswith(b"HTTP/1.1 408 ")
        assert slow.trouble(0.1) is None, "no model kept it waiting"
        writer.close()
        assert provider.calls[1:] == []

    serve(use, limits=CallLimits(body_seconds=0.3))


def test_a_small_body_that_unpacks_to_a_large_one_is_refused() -> None:
    packed = gzip.compress(b" " * 40_000_000)
    assert len(packed) < 50_000

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        for path in (CHAT, MESSAGES):
            session = begun(server)
            headers = {"x-api-key": session.key, "Content-Encoding": "gzip"}
            url = address(session) + path
            async with aiohttp.request("POST", url, data=packed, headers=headers) as response:
                assert response.status == 413
        assert provider.calls == []

    serve(use)


@pytest.mark.parametrize(
    "headers",
    [
        {f"x-{number}": "y" for number in range(1000)},
        {"x-long": "y" * 100_000},
    ],
    ids=["many", "long"],
)
def test_floods_of_headers_are_cut_off(headers: dict[str, str]) -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)
        reader, writer = await connect(session)
        writer.write(head(session, Content_Length=2, **headers) + b"{}")
        got = await asyncio.wait_for(reader.read(1000), 30)
        assert b" 400 Bad Request" in got.partition(b"\r\n")[0]
        assert provider.calls == []
        writer.close()
        await goes_on(session)

    serve(use)


def test_requests_in_one_breath_are_answered_one_by_one() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session, other = begun(server), begun(server)
        reader, writer = await connect(session)
        body = json.dumps(ASKED).encode()
        writer.write((head(session, Content_Length=len(body)) + body) * 50)
        await goes_on(other)
        got = b""
        while got.count(b"HTTP/1.1 200 OK") < 50:
            got += await asyncio.wait_for(reader.read(100_000), 30)
        writer.close()
        trace = session.end()
        assert trace is not None
        assert trace.model_calls == 50

    serve(use)


def test_idle_connections_give_way() -> None:
    """More of them than there may be: the oldest are closed, and whoever works goes on."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session, other = begun(server), begun(server)
        slow = asyncio.create_task(
            send(other, json={**ASKED, "messages": [{"role": "user", "content": "slow"}]})
        )
        await called(provider)
        idle = [await connect(session) for _ in range(60)]
        for _ in range(3):
            await goes_on(session)
        assert len(server.connections) <= 20
        assert await asyncio.wait_for(idle[0][0].read(), 30) == b""
        status, _, _ = await slow
        assert status == 200
        for _, writer in idle:
            writer.close()

    serve(
        use,
        lambda call: reply(call, "hi", delay=0.5 if b"slow" in call.raw else 0),
        connections=20,
    )


def test_a_flood_of_refusals_is_slowed_down() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = begun(server)

        async def knock() -> int:
            count = 0
            async with aiohttp.ClientSession() as client:
                while True:
                    async with client.get(f"{address(session)}/v1/models") as response:
                        assert response.status == 404
                        count += 1

        knocking = [asyncio.create_task(knock()) for _ in range(20)]
        began = time.monotonic()
        while time.monotonic() - began < 1.5:
            await goes_on(session)
            await asyncio.sleep(0.05)
        asked = server.refused - len(knocking)  # but for those that wait for their refusal
        assert asked <= (time.monotonic() - began + 1) * REFUSALS_PER_SECOND, "a burst comes first"
        for task in knocking:
            task.cancel()
        await asyncio.gather(*knocking, return_exceptions=True)

    serve(use)
