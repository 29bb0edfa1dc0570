"""Asks one instance one question, and says in a sentence why no usable answer came."""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple

from gateval.candidates.base import TrialRequest
from gateval.candidates.contract.claims import ClaimError
from gateval.candidates.contract.question import ProgramAnswer, answer_from
from gateval.candidates.doors.models import end_trial
from gateval.candidates.doors.tools import untouched_tools
from gateval.candidates.process.capture import last_lines
from gateval.candidates.process.failures import out_of_reach, server_line
from gateval.candidates.serving.exchange import read_reply, write_request
from gateval.candidates.serving.instance import Instance
from gateval.candidates.serving.options import HttpOptions
from gateval.domain.text.quoting import quote
from gateval.domain.trials.trial import DETAIL_LINES, Answer, Cause, NoAnswer
from gateval.formats.templates.parts import TemplateError
from gateval.judging.neutral import shorten
from gateval.ports.local_http import LocalHttpError, LocalReply, LocalRequest

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
    ground = str(request.playground.root) if request.playground else ""
    try:
        written = write_request(options.request, request.input, ground)
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
