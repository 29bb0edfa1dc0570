"""A model provider on loopback that speaks three wire formats, streamed too, and fails on request.

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
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

from tests.servers.settling import settled

STATUS_TEXT = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized"}

_NUMBERS = count(1)


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

    @property
    def is_responses(self) -> bool:
        return self.path.endswith("/responses")

    @property
    def streams(self) -> bool:
        return self.body.get("stream") is True


@dataclass(frozen=True)
class Answer:
    """What the server does with a call.

    It waits `delay` seconds and sends status, headers and body, of which `cut` sends only the
    first bytes and closes. `drop` closes without a byte, `raw` sends bytes that are no HTTP.
    `pieces` are sent one by one instead of the body, `pause` seconds apart, as a stream that ends
    with the connection; `drop` then closes it without the end that HTTP wants.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0
    cut: int | None = None
    drop: bool = False
    raw: bytes | None = None
    pieces: tuple[bytes, ...] = ()
    pause: float = 0


Responder = Callable[[Call], Answer]


def reply(
    call: Call,
    text: str = "",
    *,
    tools: Iterable[tuple[str, str, dict[str, Any]]] = (),
    usage: tuple[int, int] | None = (10, 5),
    delay: float = 0,
) -> Answer:
    """A reply in the format of the call; `tools` are (id, name, arguments). Streamed if asked."""
    if b'"stream":true' in call.raw.replace(b" ", b""):
        return streamed(call, text, tools=tools, usage=usage, delay=delay)
    shape = _anthropic if call.is_anthropic else _responses if call.is_responses else _openai
    body = shape(text, list(tools), usage)
    return Answer(body=json.dumps(body).encode(), delay=delay)


def streamed(
    call: Call,
    text: str = "",
    *,
    tools: Iterable[tuple[str, str, dict[str, Any]]] = (),
    usage: tuple[int, int] | None = (10, 5),
    delay: float = 0,
    pause: float = 0,
    size: int | None = None,
) -> Answer:
    """A reply as a stream: an event for each word, or all of it in pieces of `size` bytes."""
    write = _anthropic_events if call.is_anthropic else _openai_events
    if call.is_responses:
        write = _responses_events
    pieces = [event.encode() for event in write(call, text, list(tools), usage)]
    if size is not None:
        whole = b"".join(pieces)
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    return Answer(pieces=tuple(pieces), delay=delay, pause=pause)


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
            await settled()
            self._server.close()
            for transport in list(self._connections):
                transport.abort()
            await settled()
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
        if answer.pieces:
            self._send_pieces(answer, list(answer.pieces), begins=True)
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

    def _send_pieces(self, answer: Answer, rest: list[bytes], *, begins: bool = False) -> None:
        if self._transport is None:
            return
        if begins:
            self._transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
        now = [rest.pop(0)] if answer.pause else list(rest)
        for piece in now:
            self._transport.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if answer.pause and rest:
            loop = asyncio.get_running_loop()
            loop.call_later(answer.pause, lambda: self._send_pieces(answer, rest))
        elif answer.drop:
            self._transport.close()
        else:
            self._transport.write(b"0\r\n\r\n")


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)


def _openai_events(
    call: Call, text: str, tools: list[Any], usage: tuple[int, int] | None
) -> Iterator[str]:
    number = next(_NUMBERS)

    def chunk(choices: list[Any], **more: Any) -> str:
        body = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "served-model",
            "choices": choices,
        }
        return f"data: {json.dumps({**body, **more})}\n\n"

    def delta(finish: str | None = None, **fields: Any) -> str:
        return chunk([{"index": 0, "delta": fields, "finish_reason": finish}])

    yield delta(role="assistant", content="")
    for word in _words(text):
        yield delta(content=word)
    for index, (call_id, name, _) in enumerate(tools):
        function = {"name": name, "arguments": ""}
        yield delta(
            tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function}]
        )
    # Parallel calls grow side by side.
    written = [json.dumps(arguments) for _, _, arguments in tools]
    for at in range(0, max(map(len, written), default=0), 5):
        for index, arguments in enumerate(written):
            if arguments[at : at + 5]:
                piece = {"index": index, "function": {"arguments": arguments[at : at + 5]}}
                yield delta(tool_calls=[piece])
    yield delta("tool_calls" if tools else "stop")
    if usage and (call.body.get("stream_options") or {}).get("include_usage"):
        given, taken = usage
        counts = {"prompt_tokens": given, "completion_tokens": taken, "total_tokens": given + taken}
        yield chunk([], usage=counts)
    yield "data: [DONE]\n\n"


def _anthropic_events(
    call: Call, text: str, tools: list[Any], usage: tuple[int, int] | None
) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    given, taken = usage or (None, None)
    message = {**_anthropic("", [], usage), "content": [], "stop_reason": None}
    yield event(
        "message_start", message={**message, "usage": {"input_tokens": given, "output_tokens": 1}}
    )
    yield event("ping")
    index = 0
    if text:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for word in _words(text):
            yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
        yield event("content_block_stop", index=0)
        index = 1
    for position, (call_id, name, arguments) in enumerate(tools, start=index):
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        yield event("content_block_start", index=position, content_block=block)
        written = json.dumps(arguments)
        for at in range(0, len(written), 5):
            piece = {"type": "input_json_delta", "partial_json": written[at : at + 5]}
            yield event("content_block_delta", index=position, delta=piece)
        yield event("content_block_stop", index=position)
    end = {"stop_reason": "tool_use" if tools else "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=end, usage={"output_tokens": taken})
    yield event("message_stop")


def _responses_events(
    call: Call, text: str, tools: list[Any], usage: tuple[int, int] | None
) -> Iterator[str]:
    whole = _responses(text, tools, usage)
    number = 0

    def event(kind: str, **fields: Any) -> str:
        nonlocal number
        number += 1
        body = {"type": kind, "sequence_number": number, **fields}
        return f"event: {kind}\ndata: {json.dumps(body)}\n\n"

    yield event("response.created", response={**whole, "status": "in_progress", "output": []})
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "reasoning":
            yield event("response.output_item.added", output_index=index, item=item)
            yield event("response.output_item.done", output_index=index, item=item)
            continue
        if item["type"] == "message":
            part = item["content"][0]
            place["content_index"] = 0
            yield event(
                "response.output_item.added", output_index=index, item={**item, "content": []}
            )
            yield event("response.content_part.added", **place, part={**part, "text": ""})
            for word in _words(text):
                yield event("response.output_text.delta", **place, delta=word, logprobs=[])
            yield event("response.output_text.done", **place, text=text, logprobs=[])
            yield event("response.content_part.done", **place, part=part)
        else:
            yield event(
                "response.output_item.added", output_index=index, item={**item, "arguments": ""}
            )
            yield event("response.function_call_arguments.delta", **place, delta=item["arguments"])
            yield event(
                "response.function_call_arguments.done",
                **place,
                arguments=item["arguments"],
                name=item["name"],
            )
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=whole)


def _responses(text: str, tools: list[Any], usage: tuple[int, int] | None) -> dict[str, Any]:
    number = next(_NUMBERS)
    output: list[dict[str, Any]] = [{"type": "reasoning", "id": f"rs_{number}", "summary": []}]
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number}_{call_id}",
            "call_id": call_id,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }
        for call_id, name, arguments in tools
    ]
    body: dict[str, Any] = {
        "id": f"resp_provider_{number}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "served-model",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    if usage:
        given, taken = usage
        body["usage"] = {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": taken,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + taken,
        }
    return body


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
        "id": f"chatcmpl-{next(_NUMBERS)}",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "system_fingerprint": None,
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
        "id": f"msg_{next(_NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": "served-model",
        "content": content,
        "stop_reason": "tool_use" if tools else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": given, "output_tokens": taken},
    }


def _by_content(
    answers: list[str], text: str, latency: float, silent: list[str] | None = None
) -> Responder:
    """Answer by the first `WORD=TEXT` whose word stands in the request, else by `text`; never
    where one of the words in `silent` does. `TOOL()` as text is a call of that tool.
    """
    mute = [word.encode() for word in silent or []]
    table = [(word.encode(), said) for word, _, said in (each.partition("=") for each in answers)]

    def respond(call: Call) -> Answer:
        said = next((said for word, said in table if word in call.raw), text)
        if any(word in call.raw for word in mute):
            return reply(call, said, delay=3_600)
        if said.endswith("()"):
            return reply(call, "", tools=[("call_1", said[:-2], {})], delay=latency)
        return reply(call, said, delay=latency)

    return respond


async def _serve(options: argparse.Namespace) -> None:
    respond = unreliable(
        _by_content(options.answer, options.text, options.latency, options.silent),
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
    parser.add_argument(
        "--silent", action="append", metavar="WORD", help="never answer a request that holds WORD"
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
