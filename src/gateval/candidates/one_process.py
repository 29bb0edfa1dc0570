"""A program that goes on through a conversation: in each turn it is told a line and prints one."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from gateval.candidates.allowlist import instance_environment
from gateval.candidates.base import ModelSession, TrialRequest
from gateval.candidates.bounded.template_parts import TemplateError
from gateval.candidates.contract.claims import ClaimError
from gateval.candidates.contract.invocation import write_stdin, write_words
from gateval.candidates.contract.question import answer_from
from gateval.candidates.contract.response import read_response
from gateval.candidates.process.failures import command_line, failure, no_start, out_of_reach, told
from gateval.candidates.process.private import private_folders
from gateval.candidates.process.program import Limits, NotStarted, Program
from gateval.candidates.process.running import Running
from gateval.candidates.talk import Talk
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, Cause, NoAnswer

if TYPE_CHECKING:
    from gateval.candidates.command import CommandRuntime


_FLUSH = "It has to print each answer as one line and flush it."


class OneProcess(Talk):
    """Started with the first turn, ended with the conversation."""

    def __init__(self, runtime: CommandRuntime, request: TrialRequest) -> None:
        self._runtime = runtime
        self._repetition = request.key.repetition
        self._held = contextlib.AsyncExitStack()
        self._running: Running | None = None
        self._session: ModelSession | None = None
        self._limits = Limits(
            seconds=request.timeout_seconds,
            grace_seconds=runtime.context.timeouts.grace_seconds,
        )

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Write what the user says now, and read the next line that is printed."""
        now, clock = asked.model_copy(update={"messages": ()}), self._runtime.context.clock
        try:
            line = _one_line(write_stdin(self._runtime.options_given.stdin, now))
            running = self._running or await self._start(now)
        except TemplateError as error:
            return no_start(f"The program cannot be asked: {error}.", self._command)
        except NotStarted as error:
            return no_start(error.reason, self._command, error.cause)
        session, began = self._session, clock.monotonic()
        if session:
            session.begin(self._repetition)
        since, late, printed = running.stdout.total, False, b""
        running.tell(line)
        try:
            printed = await asyncio.wait_for(running.line(since), seconds)
        except TimeoutError:
            late = True
        finally:
            trouble = session.trouble(seconds, late=late) if session else None
            recorded = session.end() if session else None
        spent = max(clock.monotonic() - began, 0.0)
        given = await self._read(printed, recorded, spent, late=seconds if late else None)
        return out_of_reach(given, trouble, recorded)

    async def close(self) -> None:
        """End the program, and its way to models."""
        try:
            if self._running is not None:
                await self._running.stop()
        finally:
            await self._held.aclose()

    @property
    def _command(self) -> str:
        return command_line(self._runtime.agent.runtime.command)

    async def _start(self, asked: FixtureInput) -> Running:
        """Start the program. Raises `NotStarted` and `TemplateError`."""
        runtime = self._runtime
        agent, around, place = runtime.agent, runtime.context, runtime.place
        if place is None:
            raise NotStarted("The candidate was asked before it was ready.", Cause.GATE)
        private = await self._held.enter_async_context(private_folders(around.scratch))
        if around.door:
            self._session = around.door.open(agent.side, agent.models, agent.uses)
            self._held.callback(self._session.close)
        env = instance_environment(
            around.environ,
            literals={"PYTHONUNBUFFERED": "1", **agent.runtime.env},
            door=self._session.environment() if self._session else {},
            home=str(private.home),
            tmp=str(private.tmp),
            name=runtime.name,
        )
        argv = write_words(agent.runtime.command, asked, str(private.home))
        program = Program(argv, place.folder, env, reads=place.reads, listens=True)
        self._running = runtime.programs.start(program, self._limits)
        return self._running

    async def _read(
        self, printed: bytes, recorded: Trace | None, seconds: float, *, late: float | None
    ) -> Answer | NoAnswer:
        assert self._running is not None  # noqa: S101 - it was asked
        command = self._runtime.agent.runtime.command
        silence: NoAnswer | None = None
        if late is not None:
            ran = await self._running.stop()
            reason = f"The candidate did not answer within {late:g} s. {_FLUSH}"
            silence = told(reason, ran, self._command)
        elif not printed.endswith(b"\n"):
            ran = await self._running.stop()
            silence = failure("The candidate", ran, command, self._limits)
            if silence is None and not printed.strip():
                silence = told("The candidate ended without an answer.", ran, self._command)
        if silence is None:
            try:
                said = read_response(self._runtime.options_given.response, printed)
                return answer_from(said, recorded, seconds)
            except ClaimError as error:
                ran = await self._running.stop()
                reason = f"The candidate's answer cannot be used: {error}."
                silence = told(reason, ran, self._command)
        update = {"trace": recorded, "timed_out": late is not None, "seconds": seconds}
        return silence.model_copy(update=update)


def _one_line(written: bytes) -> bytes:
    line = written.rstrip(b"\n")
    if b"\n" in line:
        raise TemplateError(
            "what it reads in a turn has to be one line; write `{{ prompt | tojson }}` in `stdin`"
        )
    return line + b"\n"
