"""The server: HTTP on a free port of loopback, in a thread of its own.

    with GitHubServer() as github:
        repo = github.world.repository("acme/shop")
        token = github.world.workflow_token(repo, pull_requests="write", checks="write")
        ...  # GITHUB_API_URL = github.api_url

Leaving the block raises if anything broke GitHub's contract, or a planted fault hit nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import replace
from typing import Self

from aiohttp import web

from tests.servers.github.api import Answer, Api
from tests.servers.github.faults import Fault, Faults
from tests.servers.github.git_http import GitCall, allowed, is_git, run, take_note
from tests.servers.github.graphql import PATHS as GRAPHQL
from tests.servers.github.http import Reply, Request
from tests.servers.github.limits import Limits
from tests.servers.github.log import Log
from tests.servers.github.state.world import World
from tests.servers.github.views.links import Links
from tests.servers.settling import settled

MOST_BYTES = 256 * 2**20


class GitHubServer:
    """A GitHub. With `enterprise`, the API lies under /api/v3 and has no rate limits."""

    def __init__(self, world: World | None = None, *, enterprise: bool = False) -> None:
        self.world = world or World()
        self._prefix = "/api/v3" if enterprise else ""
        self._api = Api(self.world, limited=not enterprise)
        self._thread = threading.Thread(target=self._run, name="github", daemon=True)
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None
        self._pushing = asyncio.Lock()
        self.git_log = Log()
        self.url = ""

    @property
    def api_url(self) -> str:
        """What GITHUB_API_URL says."""
        return self.url + self._prefix

    @property
    def links(self) -> Links:
        """The addresses in its answers; the helpers in `webhooks` ask for them."""
        return self._api.links

    @property
    def log(self) -> Log:
        """The requests, in order."""
        return self._api.log

    @property
    def faults(self) -> Faults:
        """Where a test plants what shall go wrong."""
        return self._api.faults

    @property
    def limits(self) -> Limits:
        """The rate limits."""
        return self._api.limits

    @property
    def violations(self) -> list[str]:
        """The breaches of contract so far; a test that provokes one looks at it and clears it."""
        return self._api.contract.violations

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if kind is None:
            self.check()

    def check(self) -> None:
        """Raise AssertionError if anything broke the contract, or a fault hit nothing."""
        wrong = self.broken()
        assert not wrong, "\n".join(["the GitHub server was not used as GitHub is:", *wrong])

    def broken(self) -> list[str]:
        """Return a sentence for each breach of contract and each fault that hit nothing."""
        return [*self.violations, *self.faults.unused()]

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as failure:  # noqa: BLE001 the test's thread raises it
            self._failure = failure
            self._ready.set()

    async def _serve(self) -> None:
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=128).start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        self._api.links = Links(self.api_url, self.url)
        self._ready.set()
        await self._stop.wait()
        await settled()
        await runner.cleanup()
        await settled()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        request = Request(
            incoming.method,
            incoming.rel_url.raw_path,
            dict(incoming.rel_url.query),
            {name.lower(): value for name, value in incoming.headers.items()},
            await incoming.read(),
        )
        if is_git(request.path):
            answer = await self._git(request)
        elif request.path.startswith(f"{self._prefix}/") or request.path in GRAPHQL:
            path = request.path.removeprefix(self._prefix)
            answer = self._api.answer(replace(request, path=path))
        else:
            answer = Answer(Reply(404, b"Not Found"))
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.reply is None:
            if incoming.transport is not None:
                incoming.transport.abort()
            return web.Response()
        headers = {"Content-Type": "application/json; charset=utf-8", **answer.reply.headers}
        return web.Response(
            status=answer.reply.status, body=answer.reply.encoded(), headers=headers
        )

    async def _git(self, request: Request) -> Answer:
        """Let git answer beside the loop, unless a fault or a rule stands against it."""
        fault = self.faults.hit(request) or Fault(request.method, request.path)
        if fault.then is not None:
            fault.then()
        reply: Reply | None = fault.reply
        if fault.done or not (fault.drop or fault.reply):
            call = allowed(self.world, request)
            true = call if isinstance(call, Reply) else await self._run_git(call)
            reply = reply or true
        if fault.drop:
            reply = None
        self.git_log.add(request, reply.status if reply else 0, None)
        return Answer(reply, fault.delay)

    async def _run_git(self, call: GitCall) -> Reply:
        """Run git; pushes one at a time, since the world is told of each."""
        async with self._pushing if call.moves_refs else contextlib.nullcontext():
            reply = await self._loop.run_in_executor(None, run, call)
            if call.moves_refs:
                take_note(call)
        return reply
