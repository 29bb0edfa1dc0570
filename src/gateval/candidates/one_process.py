"""A program that goes on through a conversation: in each turn it is told a line and prints one."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from gateval.candidates.base import TrialRequest
from gateval.candidates.contract.claims import ClaimError
from gateval.candidates.contract.invocation import one_line, write_stdin, write_words
from gateval.candidates.contract.question import answer_from
from gateval.candidates.contract.response import ELSEWHERE, read_response
from gateval.candidates.doors.models import ModelSession, end_trial
from gateval.candidates.doors.tools import door_environment, untouched_tools, with_tools
from gateval.candidates.environment import instance_environment
from gateval.candidates.preparing.workplace import Workplace
from gateval.candidates.process.answer_line import AnswerLine, answer_line, linger
from gateval.candidates.process.failures import command_line, failure, no_start, out_of_reach, told
from gateval.candidates.process.program import Limits, NotStarted, Program
from gateval.candidates.process.running import Running
from gateval.candidates.talk import Talk
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, NoAnswer
from gateval.formats.templates.parts import TemplateError

if TYPE_CHECKING:
    from gateval.candidates.beside.commands import Ground
    from gateval.candidates.command import CommandRuntime


_FLUSH = "It has to print each answer as one line and flush it."


class OneProcess(Talk):
    """Started with the first turn, ended with the conversation."""

    def __init__(
        self, runtime: CommandRuntime, request: TrialRequest, place: Workplace, ground: Ground
    ) -> None:
        self._runtime = runtime
        self._request = request
        self._place = place
        self._ground = ground
        self._held = contextlib.AsyncExitStack()
        self._running: Running | None = None
        self._session: ModelSession | None = None
        self._turn = 0
        self._read_to = 0
        self._in_step = False
        self._slowest = 0.0
        self._limits = Limits(
            seconds=request.timeout_seconds,
            grace_seconds=runtime.context.timeouts.grace_seconds,
        )

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Write what the user says now, and read the next line that is printed."""
        self._turn += 1
        now, clock = asked.told_once(first=self._turn == 1), self._runtime.context.clock
        try:
            ground = self._ground.addresses.playground
            line = one_line(write_stdin(self._runtime.options_given.stdin, now, ground))
            running = self._running or await self._start(now)
        except TemplateError as error:
            return no_start(f"The program cannot be asked: {error}.", self._command)
        except NotStarted as error:
            return no_start(error.reason, self._command, error.cause)
        session, began = self._session, clock.monotonic()
        if session:
            session.begin(self._request.key.repetition, self._request.replay)
        said, late, more = AnswerLine(b"", in_step=False, early=False), False, False
        if self._unread().strip() and not running.ended.done():
            recorded = session.end() if session else None
            return await self._two_lines(self._turn - 1, recorded, 0.0)
        spent = seconds
        try:
            said = await asyncio.wait_for(self._asked(running, line), seconds)
            spent = max(clock.monotonic() - began, 0.0)
            more = await self._goes_on(running, said, spent)
        except TimeoutError:
            late = True
        finally:
            seen = end_trial(session, seconds, late=late)
        if more:
            return await self._two_lines(max(self._turn - said.early, 1), seen.trace, spent)
        given = await self._read(said.text, seen.trace, spent, late=seconds if late else None)
        return untouched_tools(out_of_reach(given, seen), self._request, session)

    async def _asked(self, running: Running, line: bytes) -> AnswerLine:
        """Tell the program the question, the first one after its greeting, and hear its answer."""
        if self._turn > 1:
            self._read_to = running.stdout.total  # blank lines
        for _ in range(self._runtime.options_given.greeting if self._turn == 1 else 0):
            self._read_to += len(await running.line(self._read_to))
        running.tell(line)
        said = await answer_line(running, self._read_to)
        self._read_to += len(said.text)
        return said

    async def _goes_on(self, running: Running, said: AnswerLine, spent: float) -> bool:
        """Whether the program has printed more lines than answers, or will: after the last turn
        one that may have greeted first is waited for, and must neither print nor ask a model.
        """
        if self._turn == 1:
            self._in_step = said.in_step
        elif said.early:
            return True
        else:
            self._slowest = max(self._slowest, spent)
        if self._turn < len(self._request.turns) or running.ended.done():
            return False
        if not (self._in_step or self._unread()):
            await linger(running, self._slowest)
        asks = not self._in_step and self._session is not None and self._session.asks
        return asks or (bool(self._unread().strip()) and not running.ended.done())

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
        runtime, ground = self._runtime, self._ground
        spec, addresses, private = runtime.agent.runtime, ground.addresses, ground.private
        self._session = runtime.context.open_door(runtime.agent)
        if self._session:
            self._held.callback(self._session.close)
        door = door_environment(self._session, private)
        written = {"PYTHONUNBUFFERED": "1", **addresses.literals(spec.env)}
        literals = with_tools(written, door)
        env = instance_environment(runtime.context.environ, runtime.name, private, literals, door)
        program = Program(
            write_words(
                spec.command, asked, str(private.home), addresses.fill, addresses.playground
            ),
            self._place.folder,
            env,
            writes=(*((private.home,) if spec.around else ()), *ground.writes),
            reads=self._place.reads,
            ports=addresses.ports,
            listens=True,
        )
        self._running = runtime.programs.start(program, self._limits)
        return self._running

    def _unread(self) -> bytes:
        return self._running.stdout.after(self._read_to) if self._running else b""

    async def _two_lines(self, turn: int, recorded: Trace | None, seconds: float) -> NoAnswer:
        """End a program that printed more than its answer: which line answers what is unknown."""
        assert self._running is not None  # noqa: S101 - it was asked
        ran = await self._running.stop()
        reason = f"The agent printed more than one line in turn {turn}. {_FLUSH} {ELSEWHERE}"
        silence = told(reason, ran, self._command)
        return silence.model_copy(update={"trace": recorded, "seconds": seconds})

    async def _read(
        self, printed: bytes, recorded: Trace | None, seconds: float, *, late: float | None
    ) -> Answer | NoAnswer:
        assert self._running is not None  # noqa: S101 - it was asked
        command = self._runtime.agent.runtime.command
        silence: NoAnswer | None = None
        if late is not None:
            reason = f"The agent did not answer within {late:g} s. {_FLUSH}"
            silence = told(reason, await self._running.stop(), self._command)
        elif not printed.endswith(b"\n"):
            ran = await self._running.stop()
            silence = failure("The agent", ran, command, self._limits)
            if silence is None and not printed.strip():
                silence = told("The agent ended without an answer.", ran, self._command)
        if silence is None:
            try:
                said = read_response(self._runtime.options_given.response, printed)
                return answer_from(said, recorded, seconds)
            except ClaimError as error:
                hint = "" if printed.strip() else f" {ELSEWHERE}"
                reason = f"The agent's answer cannot be used: {error}.{hint}"
                silence = told(reason, await self._running.stop(), self._command)
        update = {"trace": recorded, "timed_out": late is not None, "seconds": seconds}
        return silence.model_copy(update=update)
