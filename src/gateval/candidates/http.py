"""The runtime `http`: servers that the gate starts and asks, one trial at a time each.

The same values as in `candidates/contract.py`, put where the manifest says.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote as percent_encode
from urllib.parse import urlencode
from uuid import uuid4

from pydantic import JsonValue

from gateval.candidates import bounded
from gateval.candidates.base import (
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
from gateval.candidates.options import BeginRequest, HttpOptions, PlainRequest
from gateval.candidates.playground_state import in_playground, told_of
from gateval.candidates.preparing import tell
from gateval.candidates.presets import CARDS, PRESETS, Asked, PresetError, a2a_question
from gateval.candidates.processes import Programs, last_lines
from gateval.candidates.program import End, Ran, private_folders
from gateval.candidates.server import Instance, Launch, prepare_launch, start_instance
from gateval.candidates.services import CommandContext, Lease, SideServices
from gateval.candidates.tools import untouched_tools
from gateval.domain.base import JsonObject, json_text
from gateval.domain.manifests.agent import ConversationMode
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.strict_json import NotStrictJson, object_of, read_json
from gateval.domain.text import beginning, quote
from gateval.domain.trials.trial import DETAIL_LINES, Answer, Cause, NoAnswer
from gateval.formats.templates import TemplateError
from gateval.ports.model_calls import LocalHttpError, LocalReply, LocalRequest, NoPortLeft
from gateval.safe.legible import shorten
from gateval.wire.base import write_json

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_IN_PATHS = "/?&=%:@!$'()*+,;~-._"
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def write_request(
    written: PlainRequest,
    asked: FixtureInput,
    playground: str = "",
    agent: AgentDefinition | None = None,
    begun: JsonObject | None = None,
) -> LocalRequest:
    """Return the request of a trial. What stands in the manifest's path is kept, what comes from
    the fixture, or from what was `begun` for the trial, is percent-encoded.

    Raises `TemplateError` when the fixture lacks what a template names.
    """
    values, budget = template_values(asked, playground, agent), bounded.Budget()
    values |= {"begun": begun} if begun else {}
    headers = [
        (name, _header(name, text, values, budget)) for name, text in written.headers.items()
    ]
    target = "".join(
        percent_encode(text, safe=_IN_PATHS if literal else "", errors="replace")
        for text, literal in bounded.render_text(written.path, values, budget)
    )
    body: bytes | None = None
    if written.method in _WITH_BODY:
        kind = "application/json"
        if written.form is not None:
            kind = "application/x-www-form-urlencoded"
            form = _filled(dict(written.form), values, budget)
            fields = {name: json_text(one) for name, one in object_of(form).items()}
            body = urlencode(fields, errors="replace").encode()
        elif written.body is not None:
            body = write_json(_filled(written.body, values, budget))
        else:
            body = write_json({} if isinstance(written, BeginRequest) else question(asked))
        if "content-type" not in {name.lower() for name, _ in headers}:
            headers.append(("Content-Type", kind))
    return LocalRequest(written.method, target, tuple(headers), body)


def _header(name: str, source: str, values: JsonObject, budget: bounded.Budget) -> str:
    text = "".join(part for part, _ in bounded.render_text(source, values, budget))
    if _CONTROL.search(text):
        raise TemplateError(
            f"the header `{name}` would hold a line break or another control character"
        )
    return text.encode("utf-8", "replace").decode("utf-8")


def _filled(body: JsonValue, values: JsonObject, budget: bounded.Budget) -> JsonValue:
    if isinstance(body, str):
        return bounded.render(body, values, budget)
    if isinstance(body, dict):
        return {key: _filled(value, values, budget) for key, value in body.items()}
    if isinstance(body, list):
        return [_filled(value, values, budget) for value in body]
    return body


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


class _Failed(Exception):
    """A sentence on why there is no answer. `broken`: the server says that it failed itself."""

    def __init__(
        self, reason: str, *, whole: bool, late: bool = False, broken: bool = False
    ) -> None:
        super().__init__(reason)
        self.whole = whole
        self.late = late
        self.broken = broken


class Exchange:
    """The questions of one trial to one instance, until one is not answered in order.

    `heard` is what came of the last. `whole`: it ended in order, and the server can go on. `dead`:
    its process ended while it was asked; `heard` does not tell how yet.
    """

    def __init__(self, instance: Instance, options: HttpOptions, request: TrialRequest) -> None:
        self._instance = instance
        self._options = options
        self._request = request
        self._conversation = uuid4().hex
        self._begun: JsonObject | None = None
        self._until = 0.0
        self.heard: Answer | NoAnswer | None = None
        self.whole = True
        self.dead = False

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Ask what the user says now. A server that remembers knows the conversation by its name;
        others are told all messages again.
        """
        if self._instance.launch.agent.runtime.conversation is ConversationMode.PROCESS:
            payload = {"conversation": self._conversation, **asked.payload}
            told = asked.told_once(first=self.heard is None)
            asked = told.model_copy(update={"payload": payload})
        return await self.ask(
            replace(self._request, input=asked, turns=(), timeout_seconds=seconds)
        )

    async def ask(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask once more; a server that has ended is not asked. When the awaiting task is cancelled,
        the trial is over for the gateway too.
        """
        if self.dead or not self.whole:
            reason = "The server that this conversation was with has ended."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        clock, session = self._instance.launch.context.clock, self._instance.session
        before = (self._instance.running.stdout.total, self._instance.running.stderr.total)
        if session:
            session.begin(request.key.repetition, request.replay, request.caller)
        began, late = clock.monotonic(), False
        self._until = began + request.timeout_seconds
        try:
            said: ProgramAnswer | _Failed = await self._said(request)
        except _Failed as error:
            said, late = error, error.late
        finally:
            seconds = max(clock.monotonic() - began, 0.0)
            seen = end_trial(session, request.timeout_seconds, late=late)
        if isinstance(said, ProgramAnswer):
            given = out_of_reach(answer_from(said, seen.trace, seconds), seen)
            self.heard = untouched_tools(given, request, session)
        else:
            raised = await self._raised(before) if said.broken else ""
            silence = NoAnswer(
                cause=Cause.CANDIDATE,
                reason=f"{said} {raised}".strip(),
                detail=self._detail(before),
                timed_out=late,
                trace=seen.trace,
                seconds=seconds,
            )
            self.heard, self.whole = out_of_reach(silence, seen), said.whole
        self.dead = self._instance.dead
        return self.heard

    async def _said(self, request: TrialRequest) -> ProgramAnswer:
        """Return what the server said. Raises `_Failed`."""
        playground = str(request.playground.root) if request.playground else ""
        if self._begun is None:
            self._begun = await self._begin(request, playground)
        try:
            if self._options.request.preset is not None:
                written = await self._by_protocol(request, playground)
            else:
                written = write_request(
                    self._options.request,
                    request.input,
                    playground,
                    self._instance.launch.agent,
                    self._begun,
                )
        except (TemplateError, PresetError) as error:
            raise _Failed(f"The request could not be made: {error}.", whole=True)
        reply = await self._accepted(written)
        kind = reply.content_type.partition(";")[0].strip().lower()
        read = partial(read_response, self._options.answer, reply.body, kind)
        try:
            return await _aside(read, reply.body)
        except ClaimError as error:
            raise _Failed(f"The server's answer cannot be used: {error}.", whole=True)

    async def _begin(self, request: TrialRequest, playground: str) -> JsonObject:
        """Send what begins a trial; return what was answered, by name."""
        agent, begun = self._instance.launch.agent, JsonObject()
        for name, one in self._options.request.begin.items():
            try:
                written = write_request(one, request.input, playground, agent, begun)
            except TemplateError as error:
                raise _Failed(f"The request `begin.{name}` could not be made: {error}.", whole=True)
            reply = await self._accepted(written)
            try:
                begun[name] = await _aside(partial(_begun, reply.body), reply.body)
            except NotStrictJson as error:
                reason = f"The server's answer to `begin.{name}` is no JSON ({error})."
                raise _Failed(reason, whole=True) from None
        return begun

    async def _accepted(self, written: LocalRequest) -> LocalReply:
        """Return the reply to a request that the server took. Raises `_Failed` for others."""
        reply = await self._reply(written)
        what = f"{written.method} {quote(written.target)}"
        if 300 <= reply.status < 400:
            target = f" to {quote(beginning(reply.location))}" if reply.location else ""
            reason = f"The server answered {what} with a redirect ({reply.status}{target})"
            raise _Failed(f"{reason}; redirects are not followed.", whole=True)
        if not 200 <= reply.status < 300:
            text = " ".join(reply.body[:2000].decode("utf-8", "replace").split())
            shown = f": {quote(beginning(text))}" if text else ""
            reason = f"The server answered {what} with status {reply.status}{shown}."
            raise _Failed(reason, whole=True, broken=reply.status >= 500)
        return reply

    async def _by_protocol(self, request: TrialRequest, playground: str) -> LocalRequest:
        """Return the request that the protocol of the server has. Raises `PresetError`."""
        options, asked = self._options.request, request.input
        remembers = self._instance.launch.agent.runtime.conversation is ConversationMode.PROCESS
        goes_on = remembers and "conversation" in asked.payload
        told = Asked(asked, uuid4().hex, self._conversation if goes_on else "")
        preset = PRESETS[options.preset or ""]
        if preset.body is None:
            path, headers, body = a2a_question(await self._card(), told)
        else:
            path, headers, body = preset.path, preset.headers, preset.body(told)
        more = object_of(options.body)
        accepts = {"Accept": "text/event-stream, application/json", **headers, **options.headers}
        whole = options.model_copy(
            update={"path": options.path or "/", "headers": accepts, "body": more}
        )
        agent = self._instance.launch.agent
        written = write_request(whole, asked, playground, agent, self._begun)
        own = json.loads(written.body or b"{}")
        if not options.path:  # a card's is the server's word, and no template
            written = written._replace(target=percent_encode(path, safe=_IN_PATHS))
        return written._replace(body=write_json({**body, **own}))

    async def _card(self) -> JsonValue:
        """Return the card of the A2A agent that the server is, which it gives once."""
        for path in () if self._instance.card else CARDS:
            reply = await self._reply(LocalRequest("GET", path))
            if reply.status == HTTPStatus.OK:
                self._instance.card = reply.body
                break
        if not self._instance.card:
            raise PresetError(f"the server has no agent card at {CARDS[0]}")
        try:
            return await _aside(partial(_begun, self._instance.card), self._instance.card)
        except NotStrictJson as error:
            raise PresetError(f"the agent card is no JSON ({error})") from None

    async def _reply(self, written: LocalRequest) -> LocalReply:
        """Wait for the answer, as long as the trial has time, or for the end of the process."""
        left = self._until - self._instance.launch.context.clock.monotonic()
        ended = self._instance.running.ended
        call = asyncio.ensure_future(
            self._instance.ask(written, seconds=max(round(left, 1), 0.01), limit=ANSWER_LIMIT)
        )
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

    async def _raised(self, before: tuple[int, int]) -> str:
        """Return the exception that the server printed with a status of 500, as a sentence, if any.
        Some log it only after they have answered.
        """
        for wait in (0.0, DYING_SECONDS):
            await asyncio.sleep(wait)
            for stream in reversed(self._instance.running.printed(before)):
                lines = last_lines(stream, RAISED_LINES)
                found = next((line for line in reversed(lines) if _RAISED.match(line)), "")
                if found:
                    return f"It printed: {shorten(found, 400).rstrip('.')}."
        return ""

    def _detail(self, before: tuple[int, int]) -> tuple[str, ...]:
        """The command, and what was printed during the trial."""
        printed, complained = self._instance.running.printed(before)
        errors = last_lines(complained, DETAIL_LINES)
        prints = last_lines(printed, DETAIL_LINES - len(errors))
        return (server_line(self._instance.launch.command), *errors, *prints)


Read = TypeVar("Read")


async def _aside(read: Callable[[], Read], body: bytes) -> Read:
    """Read a body, in a thread if it is large."""
    return read() if len(body) < READ_ASIDE else await asyncio.to_thread(read)


def _begun(body: bytes) -> JsonValue:
    """Read what was answered before the question; None where that was nothing."""
    text = body.decode("utf-8", "replace")
    return read_json(text) if text.strip() else None


Asking = Callable[[Exchange], Awaitable[Answer | NoAnswer]]

LOSSES_LIMIT = 5
"""Losses in a row, without an answer between them, after which nothing more is started."""


class HttpRuntime(Runtime):
    """Starts `runtime.command` in the export as servers, when they are needed and `instances` at
    most at the same time, and sends each trial to one of them as a request.
    """

    _launch: Launch
    _options: HttpOptions
    _beside: SideServices
    _slots: asyncio.Semaphore

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self._programs = Programs(context.clock, context.starter)
        self._held = AsyncExitStack()
        self._held.push_async_callback(self._programs.close)
        self._idle: list[Instance] = []
        self._all: set[Instance] = set()
        self._losses = 0
        self._last_loss = ""
        self._stray = 0

    async def prepare(self) -> NoAnswer | None:
        """Export the revision, set it up, and start the first instance."""
        self._options = HttpOptions.model_validate(self.agent.runtime.options)
        launch = await prepare_launch(self, self._programs, self._options.ready)
        if isinstance(launch, NoAnswer):
            return launch
        tell(self.agent, self.context, "start")
        self._launch, self._beside = launch, SideServices(launch)
        self._held.push_async_callback(self._beside.close)
        self._held.push_async_callback(self._end_all)
        self._slots = asyncio.Semaphore(1 if self._beside.one_by_one else self._options.instances)
        async with self._slots:
            lease = await self._beside.services.lease()
            started = lease if isinstance(lease, NoAnswer) else await self._start(lease)
            if isinstance(started, NoAnswer):
                return started
            self._idle.append(started)
        return None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask an instance that is free, as soon as there is one."""
        return await self._exchange(request, lambda exchange: exchange.ask(request))

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Ask one instance all turns; it gets the messages again unless it remembers them."""
        clock = self.context.clock
        return await self._exchange(
            request, lambda exchange: converse(exchange.say, request, clock)
        )

    async def close(self) -> None:
        """Stop all instances, and kill what still runs."""
        await self._held.aclose()

    async def _exchange(self, request: TrialRequest, asking: Asking) -> Answer | NoAnswer:
        """Have one instance answer. It is not asked anything else meanwhile."""
        async with self._slots:
            lease, playground = await self._beside.services.lease(), request.playground
            if isinstance(lease, NoAnswer):
                return lease
            instance = await self._living(lease, playground)
            if isinstance(instance, NoAnswer):
                return instance
            keep, alone = False, self._options.restart == "perTrial" or playground is not None
            exchange = Exchange(instance, self._options, request)
            try:
                given = await self._given(lease, exchange, instance, asking, playground)
                if exchange.heard is None:
                    exchange.dead = instance.dead
                keep = exchange.whole and not exchange.dead and not alone
            finally:
                if keep:
                    self._idle.append(instance)
                else:
                    ran = await self._end(instance)
            if keep:
                self._losses = 0
                return given
            return self._reckon(given, exchange, ran, instance.how_it_ended(ran))

    async def _end_all(self) -> None:
        """Stop all instances, and tell of model calls that came when no trial was under way."""
        self._idle.clear()
        await asyncio.gather(*(self._end(instance) for instance in tuple(self._all)))
        if self._stray:
            calls = "1 model call" if self._stray == 1 else f"{self._stray} model calls"
            self._beside.warn(f"The server made {calls} while no trial was under way; refused.")
            self._stray = 0

    async def _given(
        self,
        lease: Lease,
        exchange: Exchange,
        instance: Instance,
        asking: Asking,
        playground: Playground | None,
    ) -> Answer | NoAnswer:
        """Ask the instance, between what runs before and after."""
        if not self.agent.runtime.around:
            return await self._beside.services.checked(lease, await asking(exchange))
        async with private_folders(self.context.scratch) as private:
            at = CommandContext(told_of(playground, lease.addresses), private, instance.port)
            return await self._beside.trial(lease, at, lambda: asking(exchange))

    async def _living(self, lease: Lease, playground: Playground | None) -> Instance | NoAnswer:
        """Return an instance that lives beside these services, started if need be, or why there is
        none. Only one that was started for a playground may write there.
        """
        while self._idle and playground is None:
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
        started = await self._start(lease, playground)
        if isinstance(started, NoAnswer):
            self._losses += 1
            self._last_loss = started.reason
        return started

    async def _start(
        self, lease: Lease, playground: Playground | None = None
    ) -> Instance | NoAnswer:
        started = await start_instance(in_playground(self._launch, lease.addresses, playground))
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

    def _reckon(
        self, given: Answer | NoAnswer, exchange: Exchange, ran: Ran, how: str
    ) -> Answer | NoAnswer:
        """Return what came of a trial whose instance is gone, and count the loss if it is one."""
        if exchange.dead:
            self._lost(f"The server {how} in a trial")
        if isinstance(given, Answer):
            self._losses = 0
        elif exchange.dead:
            told = {"reason": f"{given.reason} It {how}."}
            fault = {"cause": Cause.GATE} if ran.end is End.UNWATCHED else {}
            return given.model_copy(update={**told, **fault})
        return given

    def _lost(self, what: str) -> None:
        self._losses += 1
        self._last_loss = f"{what}."
        self._beside.warn(f"{what}; it is replaced.")
