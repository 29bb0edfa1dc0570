"""Agents that are servers: a manifest in one call, and programs for the export."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from gateval.candidates.base import TrialRequest
from gateval.candidates.team import Candidates
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import RuntimeSpec
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, NoAnswer
from gateval.events import CandidateWarned
from tests.helpers.candidates import World, command_agent

HTTP = """\
import json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def say(self, status, body, kind="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items(): self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)
    def do_GET(self): self.say(200, {"ok": True})
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(body)
    def answer(self, body): self.say(200, {"reply": "You said: " + body["message"]})
def serve(handler=Handler):
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
"""
"""A server to be finished: override `answer`, then `serve()`."""

ECHO = HTTP + "serve()\n"

SOCKET = """\
import os, signal, socket, sys, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen(50)
def read_request(peer):
    data = b""
    while b"\\r\\n\\r\\n" not in data:
        more = peer.recv(65536)
        if not more: raise OSError("only looked whether we listen")
        data += more
    head, _, body = data.partition(b"\\r\\n\\r\\n")
    length = [int(line.split(b":")[1]) for line in head.split(b"\\r\\n") if line.lower().startswith(b"content-length")]
    while len(body) < sum(length): body += peer.recv(65536)
OK = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\n"
def loop(work, read=read_request):
    while True:
        peer, _ = listener.accept()
        try:
            read(peer)
            work(peer)
        except OSError: pass
        finally: peer.close()
"""
"""A server without a library: `loop(lambda peer: peer.sendall(...))`."""


def serving(tmp_path: Path, program: str, *, environ: Mapping[str, str] | None = None) -> World:
    """A world whose `agent.py` is `HTTP` with the rest of a program behind it."""
    world = World(tmp_path, environ=environ)
    world.write("agent.py", HTTP + program)
    return world


def server(
    *,
    request: JsonObject | None = None,
    response: JsonObject | None = None,
    env: dict[str, str] | None = None,
    models: tuple[str, ...] = (),
    command: Sequence[str] = (),
    **options: JsonValue,
) -> AgentDefinition:
    """An Agent that runs `agent.py PORT` as a server and reads `$.reply`."""
    written: JsonObject = {
        "request": request or {"path": "/chat", "body": {"message": "{{ prompt }}"}},
        "response": {"output": "$.reply"} if response is None else response,
        "instances": 1,
        **options,
    }
    argv = tuple(command) or (sys.executable, "-I", "agent.py", "{port}")
    runtime = RuntimeSpec(type="http", command=argv, env=env or {}, options=written)
    return command_agent(argv, models=models).model_copy(update={"runtime": runtime})


def answers(
    world: World, agent: AgentDefinition, *requests: TrialRequest, side_by_side: bool = False
) -> list[Answer | NoAnswer]:
    """Ask one question after the other, or all at once, and end everything."""

    async def main() -> list[Answer | NoAnswer]:
        async with world.http, Candidates(world.context) as candidates:
            if side_by_side:
                calls = (candidates.answer(agent, request) for request in requests)
                return list(await asyncio.gather(*calls))
            return [await candidates.answer(agent, request) for request in requests]

    return asyncio.run(main())


def warnings(world: World) -> list[str]:
    """What was told of candidates on the way."""
    return [event.message for event in world.events if isinstance(event, CandidateWarned)]
