"""A model server for the benchmarks: OpenAI chat completions after a fixed time, cheaply.

Asked for a stream, it sends as many chunks as the last message says (`Say 2000 words.`).

Run as its own process, `python -m benchmarks.model_server --latency SECONDS`. It prints its port,
answers on 127.0.0.1, and ends when its standard input is closed. `GET /calls` says how many calls
it has answered, so that a benchmark can tell that no call was left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from itertools import count

from aiohttp import web

AGENT_MODEL = "agent-model"
JUDGE_MODEL = "judge-model"

ANSWER = "I am sorry to hear that. What is the reason for the return of your order?"
VERDICT = {
    "score": 1.0,
    "confidence": 0.9,
    "summary": "The agent asked for the reason first and promised nothing.",
    "violations": [],
    "what_would_raise_score": "Nothing; the rubric is met.",
}
TEXTS = {AGENT_MODEL: ANSWER, JUDGE_MODEL: json.dumps(VERDICT)}


class ModelServer:
    """Answers each call after `latency` seconds. The model's name tells agent from judge."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._numbers = count(1)
        self._calls = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request."""
        if request.method == "GET":
            return web.Response(text=str(self._calls))
        asked = json.loads(await request.read())
        model = asked["model"]
        if not request.path.endswith("/chat/completions") or model not in TEXTS:
            return web.Response(status=404, text=f"no {model} at {request.path}")
        await asyncio.sleep(self._latency)
        self._calls += 1
        if asked.get("stream"):
            return await _stream(request, model, int(asked["messages"][-1]["content"].split()[1]))
        body = reply(next(self._numbers), model, TEXTS[model])
        return web.Response(body=body, content_type="application/json")


def reply(number: int, model: str, text: str) -> bytes:
    """Write a chat completion that says `text`."""
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    usage = {"prompt_tokens": 120, "completion_tokens": 40, "total_tokens": 160}
    return json.dumps(
        {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1767225600,
            "model": model,
            "choices": [choice],
            "usage": usage,
        }
    ).encode()


async def _stream(request: web.BaseRequest, model: str, chunks: int) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for number in range(chunks):
        await response.write(_chunk(model, {"content": f"word {number} "}))
    await response.write(_chunk(model, {}, "stop") + b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _chunk(model: str, delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    fields = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1767225600}
    return f"data: {json.dumps({**fields, 'model': model, 'choices': [choice]})}\n\n".encode()


async def serve(latency: float) -> None:
    """Serve until standard input ends."""
    server = web.Server(ModelServer(latency).handle, access_log=None)
    runner = web.ServerRunner(server)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds (default 0.2)")
    asyncio.run(serve(parser.parse_args().latency))


if __name__ == "__main__":
    main()
