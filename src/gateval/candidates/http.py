"""The runtime `http`: servers that the gate starts and asks, one trial at a time each.

The same values as in `candidates/contract.py`, put where the manifest says.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote as percent_encode
from uuid import uuid4

from pydantic import JsonValue

from gateval.candidates import bounded
from gateval.candidates.base import (
    Conversation,
    Playground,
    Runtime,
    RuntimeContext,
    TrialRequest,
    converse,
    end_trial,
)
from gateval.candidates.contract import (
    ClaimError,
    ProgramAnswer,
    answer_from,
    question,
    read_response,
    template_values,
)
from gateval.candidates.failures import out_of_reach, server_line
from gateval.candidates.options import HttpOptions, Request, Response
from gateval.candidates.playground_state import in_playground, told_of
from gateval.candidates.preparing import tell
from gateval.candidates.processes import Programs, last_lines
from gateval.candidates.program import End, Ran, private_folders
from gateval.candidates.server import Instance, Launch, prepare_launch, start_instance
from gateval.candidates.services import CommandContext, Lease, SideServices
from gateval.candidates.tools import untouched_tools
from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import ConversationMode
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.text import quote
from gateval.domain.trials.trial import DETAIL_LINES, Answer, Cause, NoAnswer
from gateval.formats.templates import TemplateError
from gateval.judging.prompt import shorten
from gateval.ports.model_calls import LocalHttpError, LocalReply, LocalRequest, NoPortLeft
from gateval.wire.base import write_json

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def write_request(written: Request, asked: FixtureInput, playground: str = "") -> LocalRequest:
    """Return the request of a trial.

    Raises `TemplateError` when the fixture lacks what a template names.
    """
    values = template_values(asked, playground)
    budget = bounded.Budget()
    headers = [
        (name, _header(name, text, values, budget)) for name, text in written.headers.items()
    ]
    if written.method in _WITH_BODY and "content-type" not in {name.lower() for name, _ in headers}:
        headers.append(("Content-Type", "application/json"))
    return LocalRequest(
        method=written.method,
        target=_target(written.path, values, budget),
        headers=tuple(headers),
        body=_body(written, asked, values, budget),
    )


def _target(path: str, values: JsonObject, budget: bounded.Budget) -> str:
    """What stands in the manifest is kept, what comes from the fixture is percent-encoded."""
    return "".join(
        percent_encode(text, safe="/?&=%:@!$'()*+,;~-._" if literal else "", errors="replace")
        for text, literal in bounded.render_text(path, values, budget)
    )


def _header(name: str, source: str, values: JsonObject, budget: bounded.Budget) -> str:
    text = "".join(part for part, _ in bounded.render_text(source, values, budget))
    if _CONTROL.search(text):
        raise TemplateError(
            f"the header `{name}` would hold a line break or another control character"
        )
    return text.encode("utf-8", "replace").decode("utf-8")


def _body(
    written: Request, asked: FixtureInput, values: JsonObject, budget: bounded.Budget
) -> bytes | None:
    if written.method not in _WITH_BODY:
        return None
    if written.body is None:
        return write_json(question(asked))
    return write_json(_filled(written.body, values, budget))


def _filled(body: JsonValue, values: JsonObject, budget: bounded.Budget) -> JsonValue:
    if isinstance(body, str):
        return bounded.render(body, values, budget)
    if isinstance(body, dict):
        return {key: _filled(value, values, budget) for key, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, values, budget) for value in body]
    return body


def read_reply(paths: Response, reply: LocalReply) -> ProgramAnswer:
    """Read what a server answered with a status of 2xx. Raises `ClaimError`."""
    kind = reply.content_type.partition(";")[0].strip().lower()
    return read_response(paths, reply.body, kind)


ANSWER_LIMIT = 1024 * 1024
"""Bytes read of an answer."""

DYING_SECONDS = 0.25
"""How long an answer may still come in, and how long an end may still show, after the other."""

RAISED_LINES = 100
"""Lines of what was printed in a trial that are searched for an exception."""

_RAISED = re.compile(r"(?:Uncaught )?[A-Za-z_][\w.]*(?:Error|Exception|Exit)\b(?!\()|panic: ")
"""How Python, Node, Java and Go begin the line that names what was raised."""

READ_ASIDE = 64 * 1024
"""Bytes from which on an answer is read in a thread, so that other trials go on meanwhile."""


class ServerAnswer(NamedTuple):
    """The result of a trial. `whole`: the exchange ended in order, and the server can go on.

    `dead`: its process ended while it was asked; `given` does not tell how yet.
    """

    given: Answer | NoAnswer
    whole: bool
    dead: bool


class _Failed(Exception):
    """A sentence on why there is no answer. `broken`: the server says that it failed itself."""

    def __init__(
        self, reason: str, *, whole: bool, late: bool = False, broken: bool = False
    ) -> None:
        super().__init__(reason)
        self.whole = whole
        self.late = late
        self.broken = broken


async def ask(instance: Instance, options: HttpOptions, request: TrialRequest) -> ServerAnswer:
    """Ask once. When the awaiting task is cancelled, the trial is over for the gateway too."""
    clock, session = instance.launch.context.clock, instance.session
    before = (instance.running.stdout.total, instance.running.stderr.total)
    failed: _Failed | None = None
    said: ProgramAnswer | None = None
    if session:
        session.begin(request.key.repetition, request.replay)
    began = clock.monotonic()
    try:
        said = await _said(instance, options, request)
    except _Failed as error:
        failed = error
    finally:
        seconds = max(clock.monotonic() - began, 0.0)
        late = failed is not None and failed.late
        seen = end_trial(session, request.timeout_seconds, late=late)
    if failed is None and said is not None:
        given = out_of_reach(answer_from(said, seen.trace, seconds), seen)
        given = untouched_tools(given, request, session)
        return ServerAnswer(given, whole=True, dead=instance.dead)
    assert failed is not None  # noqa: S101 - one of the two there is
    raised = await _raised(instance, before) if failed.broken else ""
    silence = NoAnswer(
        cause=Cause.CANDIDATE,
        reason=f"{failed} {raised}".strip(),
        detail=_detail(instance, before),
        timed_out=failed.late,
        trace=seen.trace,
        seconds=seconds,
    )
    given = out_of_reach(silence, seen)
    return ServerAnswer(given, whole=failed.whole, dead=instance.dead)


async def _said(instance: Instance, options: HttpOptions, request: TrialRequest) -> ProgramAnswer:
    """Return what the server said. Raises `_Failed`."""
    commands = str(request.playground.root) if request.playground else ""
    try:
        written = write_request(options.request, request.input, commands)
    except TemplateError as error:
        raise _Failed(f"The request could not be made: {error}.", whole=True)
    reply = await _reply(instance, written, request.timeout_seconds)
    what = f"{written.method} {quote(written.target)}"
    if 300 <= reply.status < 400:
        target = f" to {quote(reply.location)}" if reply.location else ""
        reason = f"The server answered {what} with a redirect ({reply.status}{target})"
        raise _Failed(f"{reason}; redirects are not followed.", whole=True)
    if not 200 <= reply.status < 300:
        text = " ".join(reply.body[:2000].decode("utf-8", "replace").split())
        shown = f": {quote(text)}" if text else ""
        reason = f"The server answered {what} with status {reply.status}{shown}."
        raise _Failed(reason, whole=True, broken=reply.status >= 500)
    try:
        if len(reply.body) < READ_ASIDE:
            return read_reply(options.response, reply)
        return await asyncio.to_thread(read_reply, options.response, reply)
    except ClaimError as error:
        raise _Failed(f"The server's answer cannot be used: {error}.", whole=True)


async def _reply(instance: Instance, written: LocalRequest, seconds: float) -> LocalReply:
    """Wait for the answer, or for the end of the process, whichever comes first."""
    call = asyncio.ensure_future(instance.ask(written, seconds=seconds, limit=ANSWER_LIMIT))
    ended = instance.running.ended
    either: set[asyncio.Future[Any]] = {call, ended}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not call.done():
            await asyncio.wait({call}, timeout=DYING_SECONDS)
        if not call.done():
            raise _Failed("The server ended while it was asked.", whole=False)
        return call.result()
    except NoPortLeft:
        raise
    except LocalHttpError as error:
        if not error.late:
            await asyncio.wait({ended}, timeout=DYING_SECONDS)
        raise _Failed(f"The server {error.message}.", whole=False, late=error.late)
    finally:
        call.cancel()
        await asyncio.wait({call})


async def _raised(instance: Instance, before: tuple[int, int]) -> str:
    """Return the exception that the server printed with a status of 500, as a sentence, if any.

    Some log it only after they have answered.
    """
    for wait in (0.0, DYING_SECONDS):
        await asyncio.sleep(wait)
        printed, complained = instance.running.printed(before)
        for stream in (complained, printed):
            lines = last_lines(stream, RAISED_LINES)
            found = next((line for line in reversed(lines) if _RAISED.match(line)), "")
            if found:
                return f"It printed: {shorten(found, 400).rstrip('.')}."
    return ""


def _detail(instance: Instance, before: tuple[int, int]) -> tuple[str, ...]:
    """The command, and what was printed during the trial."""
    printed, complained = instance.running.printed(before)
    errors = last_lines(complained, DETAIL_LINES)
    prints = last_lines(printed, DETAIL_LINES - len(errors))
    return (server_line(instance.launch.command), *errors, *prints)


class Exchange:
    """Questions to one instance, until one is not answered in order. `heard` is the last."""

    def __init__(self, instance: Instance, options: HttpOptions) -> None:
        self._instance = instance
        self._options = options
        self.heard: ServerAnswer | None = None

    async def ask(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask once more; a server that has ended is not asked."""
        if self.heard and (self.heard.dead or not self.heard.whole):
            reason = "The server that this conversation was with has ended."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        self.heard = await ask(self._instance, self._options, request)
        return self.heard.given


class Turning(Conversation):
    """A conversation with one instance, which remembers it or is told all messages again."""

    def __init__(self, exchange: Exchange, request: TrialRequest, mode: ConversationMode) -> None:
        self._exchange = exchange
        self._request = request
        self._mode = mode
        self._name = uuid4().hex

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Ask what the user says now; a server that remembers knows it by `conversation`."""
        if self._mode is ConversationMode.PROCESS:
            payload = {"conversation": self._name, **asked.payload}
            told = asked.told_once(first=self._exchange.heard is None)
            asked = told.model_copy(update={"payload": payload})
        return await self._exchange.ask(
            replace(self._request, input=asked, turns=(), timeout_seconds=seconds)
        )


LOSSES_LIMIT = 5
"""Losses in a row, without an answer between them, after which nothing more is started."""


class Pool:
    """Starts instances when they are needed, `instances` at most at the same time.

    `beside` is told what a person should know: the loss of an instance, and stray model calls.
    """

    def __init__(self, launch: Launch, options: HttpOptions, beside: SideServices) -> None:
        self._launch = launch
        self._options = options
        self._beside = beside
        self._warn = beside.warn
        self._slots = asyncio.Semaphore(1 if beside.one_by_one else options.instances)
        self._idle: list[Instance] = []
        self._all: set[Instance] = set()
        self._losses = 0
        self._last_loss = ""
        self._stray = 0

    async def warm_up(self) -> NoAnswer | None:
        """Start the first instance, or say why none can be started."""
        async with self._slots:
            lease = await self._beside.services.lease()
            started = lease if isinstance(lease, NoAnswer) else await self._start(lease)
            if isinstance(started, NoAnswer):
                return started
            self._idle.append(started)
        return None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Have one instance answer. It is not asked anything else meanwhile."""
        return await self._exchange(request, lambda exchange: exchange.ask(request))

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Have one instance answer all turns. It is not asked anything else meanwhile."""
        mode, clock = self._launch.agent.runtime.conversation, self._launch.context.clock
        return await self._exchange(
            request, lambda exchange: converse(Turning(exchange, request, mode), request, clock)
        )

    async def _exchange(
        self, request: TrialRequest, asking: Callable[[Exchange], Awaitable[Answer | NoAnswer]]
    ) -> Answer | NoAnswer:
        async with self._slots:
            lease = await self._beside.services.lease()
            if isinstance(lease, NoAnswer):
                return lease
            commands = request.playground
            instance = await self._living(lease, commands)
            if isinstance(instance, NoAnswer):
                return instance
            keep, alone = False, self._options.restart == "perTrial" or commands is not None
            try:
                heard = await self._heard(instance, lease, asking, commands)
                keep = heard.whole and not heard.dead and not alone
            finally:
                if keep:
                    self._idle.append(instance)
                else:
                    ran = await self._end(instance)
            if keep:
                self._losses = 0
                return heard.given
            return self._reckon(heard, ran, instance)

    async def close(self) -> None:
        """Stop all instances, and tell of model calls that came when no trial was under way."""
        self._idle.clear()
        await asyncio.gather(*(self._end(instance) for instance in tuple(self._all)))
        if self._stray:
            calls = "1 model call" if self._stray == 1 else f"{self._stray} model calls"
            self._warn(f"The server made {calls} while no trial was under way; refused.")
            self._stray = 0

    async def _heard(
        self,
        instance: Instance,
        lease: Lease,
        asking: Callable[[Exchange], Awaitable[Answer | NoAnswer]],
        commands: Playground | None,
    ) -> ServerAnswer:
        """Ask the instance, between what runs before and after."""
        exchange = Exchange(instance, self._options)
        if self._launch.agent.runtime.around:
            async with private_folders(self._launch.context.scratch) as private:
                at = CommandContext(told_of(commands, lease.addresses), private, instance.port)
                given = await self._beside.trial(lease, at, lambda: asking(exchange))
        else:
            given = await self._beside.services.checked(lease, await asking(exchange))
        heard = exchange.heard or ServerAnswer(given, whole=True, dead=instance.dead)
        return heard._replace(given=given)

    async def _living(self, lease: Lease, commands: Playground | None) -> Instance | NoAnswer:
        """Return an instance that lives beside these services, started if need be, or why there is
        none. Only one that was started for a playground may write there.
        """
        while self._idle and commands is None:
            instance = self._idle.pop()
            if instance.launch.addresses is not lease.addresses:
                await self._end(instance)  # the services that it knows are gone
                continue
            if not instance.dead:
                return instance
            how = instance.how_it_ended(await self._end(instance))
            self._lost(f"The server {how} between two trials")
        if self._losses >= LOSSES_LIMIT:
            reason = (
                f"The server was lost {self._losses} times without an answer in between and is "
                f"not started again. {self._last_loss}"
            )
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        started = await self._start(lease, commands)
        if isinstance(started, NoAnswer):
            self._losses += 1
            self._last_loss = started.reason
        return started

    async def _start(self, lease: Lease, commands: Playground | None = None) -> Instance | NoAnswer:
        started = await start_instance(in_playground(self._launch, lease.addresses, commands))
        if isinstance(started, Instance):
            self._all.add(started)
        return started

    async def _end(self, instance: Instance) -> Ran:
        """Stop an instance and return how it ended."""
        try:
            return await instance.stop()
        finally:
            if instance in self._all and instance.session:
                self._stray += instance.session.stray
            self._all.discard(instance)

    def _reckon(self, heard: ServerAnswer, ran: Ran, instance: Instance) -> Answer | NoAnswer:
        """Return what came of a trial whose instance is gone, and count the loss if it is one."""
        given, how = heard.given, instance.how_it_ended(ran)
        if heard.dead:
            self._lost(f"The server {how} in a trial")
        if isinstance(given, Answer):
            self._losses = 0
        elif heard.dead:
            told = {"reason": f"{given.reason} It {how}."}
            fault = {"cause": Cause.GATE} if ran.end is End.UNWATCHED else {}
            return given.model_copy(update={**told, **fault})
        return given

    def _lost(self, what: str) -> None:
        self._losses += 1
        self._last_loss = f"{what}."
        self._warn(f"{what}; it is replaced.")


class HttpRuntime(Runtime):
    """Starts `runtime.command` in the export as a server, and sends each trial as a request."""

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self._programs = Programs(context.clock, context.starter)
        self._pool: Pool | None = None
        self._beside: SideServices | None = None

    async def prepare(self) -> NoAnswer | None:
        """Export the revision, set it up, and start the first instance."""
        options = HttpOptions.model_validate(self.agent.runtime.options)
        launch = await prepare_launch(self, self._programs, options.ready)
        if isinstance(launch, NoAnswer):
            return launch
        tell(self.agent, self.context, "start")
        self._beside = SideServices(launch)
        self._pool = Pool(launch, options, self._beside)
        return await self._pool.warm_up()

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask an instance that is free, as soon as there is one."""
        if self._pool is None:
            return NoAnswer(cause=Cause.GATE, reason="The candidate was asked before it was ready.")
        return await self._pool.answer(request)

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask one instance all turns; it gets the messages again unless it remembers them."""
        if self._pool is None:
            return NoAnswer(cause=Cause.GATE, reason="The candidate was asked before it was ready.")
        return await self._pool.converse(request)

    async def close(self) -> None:
        """Stop all instances, and kill what still runs."""
        try:
            if self._pool is not None:
                await self._pool.close()
            if self._beside is not None:
                await self._beside.close()
        finally:
            await self._programs.close()
