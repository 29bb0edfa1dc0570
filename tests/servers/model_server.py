"""A model provider on loopback that speaks both wire formats, and fails on request.

Written against the providers' documentation, not against `gateval.wire`, and on a bare
`asyncio.Protocol`, so that in a benchmark its own CPU stays small (about 0.1 ms per call).

In a test:

    async with ModelServer(lambda call: reply(call, "hello")) as server:
        environ = {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "..."}

As a process, which prints its port and serves until it is killed:

    python -m tests.servers.model_server --latency 0.2 --answer "VERDICT={...}" --text "hello"
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

STATUS_TEXT = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized"}


@dataclass(frozen=True)
class Call:
    """A request as it came. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.raw)
        return parsed

    @property
    def is_anthropic(self) -> bool:
        return self.path.endswith("/messages")


@dataclass(frozen=True)
class Answer:
    """What the server does with a call.

    It waits `delay` seconds and sends status, headers and body, of which `cut` sends only the
    first bytes and closes. `drop` closes without a byte, `raw` sends bytes that are no HTTP.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0
    cut: int | None = None
    drop: bool = False
    raw: bytes | None = None


Responder = Callable[[Call], Answer]


def reply(
    call: Call,
    text: str = "",
    *,
    tools: Iterable[tuple[str, str, dict[str, Any]]] = (),
    usage: tuple[int, int] | None = (10, 5),
    delay: float = 0,
) -> Answer:
    """A reply in the format of the call; `tools` are (id, name, arguments)."""
    shape = _anthropic if call.is_anthropic else _openai
    body = shape(text, list(tools), usage)
    return Answer(body=json.dumps(body).encode(), delay=delay)


def failure(call: Call, status: int, message: str, **headers: str) -> Answer:
    """An error in the format of the call. Header names are written with `_` for `-`."""
    error = {"message": message, "type": "some_error"}
    body = {"type": "error", "error": error} if call.is_anthropic else {"error": error}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps(body).encode(), named)


def in_turn(*steps: Responder) -> Responder:
    """Answer each call by the next of `steps`; the last one answers all that follow."""
    rest = list(steps)
    return lambda call: (rest.pop(0) if len(rest) > 1 else rest[0])(call)


def unreliable(
    then: Responder, *, seed: int, busy: float = 0, broken: float = 0, dropped: float = 0
) -> Responder:
    """Fail in the given shares of calls (429, 500, closed connection), drawn from `seed`."""
    draws = random.Random(seed)

    def respond(call: Call) -> Answer:
        draw = draws.random()
        if draw < busy:
            return failure(call, 429, "Slow down.", retry_after_ms="10")
        if draw < busy + broken:
            return failure(call, 500, "Something broke.")
        return Answer(drop=True) if draw < busy + broken + dropped else then(call)

    return respond


class ModelServer:
    """The server. `calls` holds what came in, in order."""

    def __init__(self, respond: Responder, *, keep_calls: bool = True) -> None:
        self.calls: list[Call] = []
        self._respond = respond
        self._keep_calls = keep_calls
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Transport] = set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self._answer, self._connections), "127.0.0.1", 0, backlog=512
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            for transport in list(self._connections):
                transport.abort()
            await self._server.wait_closed()

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The base URL as Anthropic's format wants it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        """The base URL as OpenAI's format wants it."""
        return f"{self.url}/v1"

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    def _answer(self, call: Call) -> Answer:
        if self._keep_calls:
            self.calls.append(call)
        return self._respond(call)


class _Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and Content-Length: all that the clients of a model server send."""

    def __init__(
        self, answer: Callable[[Call], Answer], connections: set[asyncio.Transport]
    ) -> None:
        self._answer = answer
        self._connections = connections
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._connections.discard(self._transport)
            self._transport = None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        answer = self._answer(Call(first.split(" ")[1], headers, rest[:length]))
        if answer.delay:
            asyncio.get_running_loop().call_later(answer.delay, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: Answer) -> None:
        if self._transport is None:
            return
        if answer.drop:
            self._transport.abort()
            return
        if answer.raw is not None:
            self._transport.write(answer.raw)
            self._transport.close()
            return
        headers = {"Content-Type": "application/json", **answer.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        status = f"{answer.status} {STATUS_TEXT.get(answer.status, 'Other')}"
        head = f"HTTP/1.1 {status}\r\n{lines}Content-Length: {len(answer.body)}\r\n\r\n"
        self._transport.write(head.encode("latin-1") + answer.body[: answer.cut])
        if answer.cut is not None:
            self._transport.close()


def _openai(text: str, tools: list[Any], usage: tuple[int, int] | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if tools:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for call_id, name, arguments in tools
        ]
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if tools else "stop"}
        ],
    }
    if usage:
        given, taken = usage
        body["usage"] = {
            "prompt_tokens": given,
            "completion_tokens": taken,
            "total_tokens": given + taken,
        }
    return body


def _anthropic(text: str, tools: list[Any], usage: tuple[int, int] | None) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        for call_id, name, arguments in tools
    ]
    given, taken = usage or (None, None)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "served-model",
        "content": content,
        "stop_reason": "tool_use" if tools else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": given, "output_tokens": taken},
    }


def _by_content(answers: list[str], text: str, latency: float) -> Responder:
    """Answer by the first `WORD=TEXT` whose word stands in the request, else by `text`."""
    table = [(word.encode(), said) for word, _, said in (each.partition("=") for each in answers)]

    def respond(call: Call) -> Answer:
        said = next((said for word, said in table if word in call.raw), text)
        return reply(call, said, delay=latency)

    return respond


async def _serve(options: argparse.Namespace) -> None:
    respond = unreliable(
        _by_content(options.answer, options.text, options.latency),
        seed=options.seed,
        busy=options.busy,
        broken=options.broken,
        dropped=options.dropped,
    )
    async with ModelServer(respond, keep_calls=False) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.servers.model_server")
    parser.add_argument("--latency", type=float, default=0, help="seconds before each answer")
    parser.add_argument("--text", default="Hello from the model server.", help="what it says")
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="WORD=TEXT",
        help="say TEXT if the request holds WORD; may be repeated, the first that fits counts",
    )
    parser.add_argument("--busy", type=float, default=0, help="share of calls answered 429")
    parser.add_argument("--broken", type=float, default=0, help="share of calls answered 500")
    parser.add_argument("--dropped", type=float, default=0, help="share of connections closed")
    parser.add_argument("--seed", type=int, default=0, help="seed of the faults")
    try:
        asyncio.run(_serve(parser.parse_args()))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
