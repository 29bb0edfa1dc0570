"""The gate's own MCP server over HTTP: what it answers, and what it does not let happen."""

from __future__ import annotations

import asyncio
import io
import json
import time
from typing import Any

import aiohttp
import pytest

from gateval.domain.manifests.fixture import ToolReplay
from gateval.domain.trials.model_call import ToolDefinition
from gateval.domain.trials.trace import SHADOW, Replay
from gateval.domain.trials.trial import Side
from gateval.gateway.local.server import GatewayServer
from gateval.gateway.local.session import Session
from gateval.gateway.local.trial_calls import CallLimits
from tests.helpers.gateway import send, serve
from tests.servers.model_server import ModelServer

TOOLS = (ToolDefinition(name="find", description="Finds."), ToolDefinition(name="refund"))


def opened(server: GatewayServer, *entries: ToolReplay, shadow: tuple[str, ...] = ()) -> Session:
    session = server.open(Side.HEAD, (), (), TOOLS)
    session.begin(1, Replay(entries, shadow))
    return session


async def post(session: Session, body: bytes, url: str = "") -> tuple[int, Any]:
    where = url or session.environment()["GATEVAL_MCP_URL"]
    async with aiohttp.request("POST", where, data=io.BytesIO(body)) as response:
        text = await response.read()
        return response.status, json.loads(text) if text else None


async def rpc(session: Session, method: str, url: str = "", **params: Any) -> tuple[int, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await post(session, json.dumps(body).encode(), url)


async def called(session: Session, name: str, **arguments: Any) -> str:
    status, said = await rpc(session, "tools/call", name=name, arguments=arguments)
    assert status == 200, said
    text: str = said["result"]["content"][0]["text"]
    return text


def test_it_introduces_itself_lists_and_answers_as_the_fixture_says() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = opened(
            server,
            ToolReplay(tool="find", arguments={"id": 7}, result={"at": "home"}),
            ToolReplay(tool="find", error="no such parcel"),
        )
        status, said = await rpc(session, "initialize", protocolVersion="2025-06-18")
        assert (status, said["result"]["protocolVersion"]) == (200, "2025-06-18")
        assert (await post(session, b'{"jsonrpc":"2.0","method":"notifications/initialized"}')) == (
            202,
            None,
        )
        assert (await rpc(session, "ping"))[1]["result"] == {}
        _, listed = await rpc(session, "tools/list")
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["find", "refund"]
        assert await called(session, "find", id=7.0) == '{"at":"home"}'
        _, failed = await rpc(session, "tools/call", name="find", arguments={"id": 8})
        assert failed["result"] == {
            "content": [{"type": "text", "text": "no such parcel"}],
            "isError": True,
        }
        assert await called(session, "refund", id=7) == SHADOW
        trace = session.end()
        assert trace is not None
        assert [(one.tool, one.arguments) for one in trace.tool_calls()] == [
            ("find", {"id": 7.0}), ("find", {"id": 8}), ("refund", {"id": 7}),
        ]  # fmt: skip

    serve(use)


def test_faults_on_demand() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = opened(
            server,
            ToolReplay(tool="find", status=503, error="the CRM is down"),
            ToolReplay(tool="find", result="back again", delay=0.4),
        )
        status, said = await rpc(session, "tools/call", name="find")
        assert (status, said["error"]["message"]) == (503, "the CRM is down")
        begun = time.monotonic()
        assert await called(session, "find") == "back again"
        assert time.monotonic() - begun >= 0.4

    serve(use)


def test_a_tool_that_is_slow_at_the_end_of_a_trial_holds_nothing_up() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = opened(server, ToolReplay(tool="find", result="late", delay=60))
        waiting = asyncio.create_task(rpc(session, "tools/call", name="find"))
        async with asyncio.timeout(30):
            while not (session.trial and session.trial.tools._slow):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.01)
        trace = session.end()
        with pytest.raises(aiohttp.ClientError):
            async with asyncio.timeout(10):
                await waiting
        assert trace is not None
        assert len(trace.tool_calls()) == 1

    serve(use)


def test_between_trials_tools_are_listed_and_not_called() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = opened(server, ToolReplay(tool="find", result="of the trial before"))
        session.end()
        assert (await rpc(session, "tools/list"))[0] == 200
        _, said = await rpc(session, "tools/call", name="find")
        assert said["error"]["message"] == "No trial is under way, so no tool may be called."
        session.begin(2, Replay((ToolReplay(tool="find", result="of this one"),), ()))
        assert await called(session, "find") == "of this one"

    serve(use)


def test_no_key_but_the_instances_own_leads_to_its_tools() -> None:
    """Attack: another session's token, the key for models, a guess, and one that is over."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        mine, other = opened(server), opened(server, ToolReplay(tool="find", result="canary"))
        url = mine.environment()["GATEVAL_MCP_URL"]
        assert mine.tool_key not in (mine.key, other.tool_key)
        assert url.endswith(mine.tool_key)
        root = url.removesuffix(mine.tool_key)
        over = opened(server)
        over.close()
        for key in (
            mine.key,
            over.tool_key,
            "",
            "x",
            f"{mine.tool_key}/",
            f"{mine.tool_key}x",
            f"../mcp/{mine.key}",
        ):
            status, said = await rpc(mine, "tools/list", root + key)
            assert (status, "result" in said) == (401, False), key
        assert await called(mine, "find") == SHADOW, "what answers belongs to the trial"
        status, _, _ = await send(mine, json={"model": "m", "messages": []}, key=mine.tool_key)
        assert status == 401, "and the token of tools opens no model"

    serve(use)


def test_an_agent_without_tools_has_no_server() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = server.open(Side.HEAD, ())
        assert "GATEVAL_MCP_URL" not in session.environment()

    serve(use)


def test_a_list_shows_the_manifest_and_nothing_of_fixtures() -> None:
    """Attack: a candidate that wants to know from the list which fixture it is asked."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        lists = []
        for entries, shadow in (
            ((), ()),
            ((ToolReplay(tool="secret_tool", arguments={"a": 1}, result="x"),), ("other_tool",)),
        ):
            session = opened(server, *entries, shadow=shadow)
            lists.append(await rpc(session, "tools/list"))
            _, said = await rpc(session, "tools/call", name="secret_tool", arguments={"a": 1})
            assert (
                said["error"]["message"] == "There is no tool 'secret_tool'. Tools: find, refund."
            )
            trace = session.end()
            assert trace is not None
            assert [(one.tool, one.refused) for one in trace.tool_calls()] == [
                ("secret_tool", True)
            ]
        assert lists[0] == lists[1]

    serve(use)


def test_giant_and_broken_messages_are_refused() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = opened(server)
        giant = (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + b"x" * 1_100_000
        )
        assert (await post(session, giant))[0] == 413
        deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"a":'
        for body in (b"", b"[]", b"\xff", b"[" * 500_000, deep + b"[" * 300_000):
            assert (await post(session, body))[0] == 400, body[:20]
        nested = deep + b"[" * 150 + b"]" * 150 + b"}}}"
        assert (await post(session, nested))[1]["error"]["code"] == -32602
        url = session.environment()["GATEVAL_MCP_URL"]
        for method in ("GET", "DELETE", "PUT"):
            async with aiohttp.request(method, url) as response:
                assert response.status == 405
        _, said = await rpc(session, "resources/list")
        assert said["error"]["code"] == -32601
        long = await rpc(session, "tools/call", name="y" * 900_000)
        assert len(json.dumps(long[1])) < 1000
        assert await called(session, "find") == SHADOW
        trace = session.end()
        assert trace is not None
        assert [one.tool for one in trace.tool_calls()] == ["y" * 200, "find"]

    serve(use)


def test_calls_of_a_trial_are_counted() -> None:
    async def use(server: GatewayServer, provider: ModelServer) -> None:
        session = opened(server)
        got = [await rpc(session, "tools/call", name="find") for _ in range(4)]
        assert [status for status, _ in got] == [200, 200, 429, 429]
        assert got[2][1]["error"]["message"].startswith("A trial may make 2 tool calls")
        session.begin()
        assert await called(session, "find") == SHADOW

    serve(use, limits=CallLimits(calls=2))


async def connected(session: Session) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    url = session.environment()["GATEVAL_MCP_URL"]
    address, _, path = url.removeprefix("http://").partition("/")
    host, _, port = address.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    return reader, writer, f"/{path}"


def test_slow_writers_hurt_only_themselves() -> None:
    """Attack: a candidate that begins many messages and ends none."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        slow, other = opened(server), opened(server)
        held = []
        for _ in range(100):
            reader, writer, path = await connected(slow)
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode()
            )
            held.append((reader, writer))
        await asyncio.sleep(0.2)
        async with asyncio.timeout(30):
            assert await called(other, "find") == SHADOW
        for reader, writer in held:
            said = await asyncio.wait_for(reader.readline(), 30)
            assert said.split()[1] in {b"408", b"429"}, "their time is over, or they were too many"
            writer.close()
        assert await called(slow, "find") == SHADOW

    serve(use, limits=CallLimits(body_seconds=0.5))


def test_slow_readers_hurt_only_themselves() -> None:
    """Attack: a candidate that asks for long answers and reads none of them."""

    async def use(server: GatewayServer, provider: ModelServer) -> None:
        slow = opened(server, ToolReplay(tool="find", result="x" * 900_000))
        other = opened(server)
        body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find"}}'
        held = []
        for _ in range(60):
            _, writer, path = await connected(slow)
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            held.append(writer)
        await asyncio.sleep(0.5)
        async with asyncio.timeout(30):
            assert await called(other, "find") == SHADOW
            slow.end()
        for writer in held:
            writer.transport.abort()

    serve(use)
