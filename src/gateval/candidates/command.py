"""The runtime `command`: one process per trial, or one that goes on through a conversation."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gateval.candidates.base import (
    Runtime,
    RuntimeContext,
    TrialRequest,
    converse,
    end_trial,
    with_history,
)
from gateval.candidates.contract import (
    ELSEWHERE,
    ClaimError,
    ProgramAnswer,
    answer_from,
    one_line,
    only_line,
    read_response,
    write_stdin,
    write_words,
)
from gateval.candidates.environment import instance_environment
from gateval.candidates.failures import (
    AnswerLine,
    answer_line,
    command_line,
    failure,
    linger,
    no_start,
    out_of_reach,
    read_answer_file,
    told,
)
from gateval.candidates.options import CommandOptions
from gateval.candidates.playground_state import beginning, told_of, writable
from gateval.candidates.preparing import Workplace
from gateval.candidates.processes import Programs, Running
from gateval.candidates.program import End, NotStarted, Program, ProgramLimits, Ran, private_folders
from gateval.candidates.redirect import redirection
from gateval.candidates.server import Launch, prepare_launch
from gateval.candidates.services import CommandContext, SideServices
from gateval.candidates.tools import door_environment, untouched_tools, with_tools
from gateval.candidates.workdir import working_copy
from gateval.domain.manifests.agent import ConversationMode
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.formats.templates import TemplateError

if TYPE_CHECKING:
    from gateval.gateway.local.session import Session


class ProcessInvocation(NamedTuple):
    """How a program is asked: its words, what it reads on standard input, the folders that it may
    write beside HOME and TMPDIR, and the file in which it answers, in one of these or HOME.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    writes: tuple[Path, ...] = ()
    answer: tuple[Path, str] | None = None


class CommandRuntime(Runtime):
    """Starts `runtime.command` in the export for each trial. Speaks `contract/`. Another contract
    overrides `line`, `asking` and `said`.
    """

    _beside: SideServices

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self.programs = Programs(context.clock, context.starter)
        self._held = contextlib.AsyncExitStack()
        self._held.push_async_callback(self.programs.close)

    @property
    def line(self) -> tuple[str, ...]:
        """The words of the program as the manifest has them."""
        return self.agent.runtime.command

    @functools.cached_property
    def options_given(self) -> CommandOptions:
        """The options as the manifest has them."""
        return CommandOptions.model_validate(self.agent.runtime.options)

    def asking(
        self, asked: FixtureInput, commands: CommandContext, *, turns: bool = False
    ) -> ProcessInvocation:
        """Return how the program is asked. Raises `TemplateError`. With `turns` the same process
        will be asked more.
        """
        del turns
        home, file = commands.private.home, self.options_given.response.file
        at = commands.addresses
        argv = write_words(self.line, asked, str(home), at.fill, at.playground, self.agent)
        stdin = write_stdin(self.options_given.stdin, asked, at.playground, self.agent)
        return ProcessInvocation(argv, stdin, answer=(home, file) if file else None)

    def refused(self, ran: Ran) -> NoAnswer | None:
        """Return why it gives no answer, where it says so itself."""
        del ran
        return None

    def may_refuse(self, printed: bytes) -> bool:
        """Whether what it printed says that there is no answer."""
        del printed
        return False

    def failed(self, ran: Ran, limits: ProgramLimits) -> NoAnswer | None:
        """Return why a program that has ended counts as failed, or None if it does not."""
        return self.refused(ran) or failure("The agent", ran, self.line, limits)

    def said(self, answered: bytes, asked: FixtureInput) -> ProgramAnswer:
        """Read what the program answered when it was asked this. Raises `ClaimError`."""
        del asked
        if self.agent.runtime.conversation is ConversationMode.PROCESS:
            answered = only_line(answered, self.options_given.greeting)
        return read_response(self.options_given.response, answered)

    async def prepare(self) -> NoAnswer | None:
        """Export the revision and set it up."""
        if not self.line:
            reason = "The Agent says `runtime.type: command`, but not which runtime.command to run."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        launch = await self.launch()
        if isinstance(launch, NoAnswer):
            return launch
        self._beside = SideServices(launch)
        self._held.push_async_callback(self._beside.close)
        lease = await self._beside.services.lease()
        return lease if isinstance(lease, NoAnswer) else None

    async def launch(self) -> Launch | NoAnswer:
        """Prepare where the program works; return how it is started, or why it cannot be."""
        return await prepare_launch(self, self.programs)

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Run the command once and read what it printed."""
        return await self._trial(
            request, lambda place, commands: self._asked(request, place, commands)
        )

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Run it for each turn, or have one process go on if the Agent says so."""

        async def answered(place: Workplace, commands: CommandContext) -> Answer | NoAnswer:
            clock = self.context.clock
            if self.agent.runtime.conversation is ConversationMode.PROCESS:
                process = OneProcess(self, request, place, commands)
                async with contextlib.aclosing(process):
                    return await converse(process.say, request, clock)
            say = with_history(request, lambda one: self._asked(one, place, commands))
            return await converse(say, request, clock)

        return await self._trial(request, answered)

    async def _trial(
        self,
        request: TrialRequest,
        ask: Callable[[Workplace, CommandContext], Awaitable[Answer | NoAnswer]],
    ) -> Answer | NoAnswer:
        """Have `ask` ask the program, in a HOME of the trial and beside its services."""
        beside = self._beside
        async with beside.turn, private_folders(self.context.scratch) as private:
            lease = await beside.services.lease()
            if isinstance(lease, NoAnswer):
                return lease
            addresses = told_of(request.playground, lease.addresses)
            commands = CommandContext(addresses, private, writes=writable(request.playground))
            begins = beginning(self.agent, beside.launch.place, request.playground)
            if self.agent.runtime.workdir:
                copy = await working_copy(begins, private)
                if isinstance(copy, NoAnswer):
                    return copy
                writes = (*commands.writes, copy.root)
                begins, commands = copy, replace(commands, writes=writes, place=copy)
            return await beside.trial(lease, commands, lambda: ask(begins, commands))

    async def _asked(
        self, request: TrialRequest, place: Workplace, commands: CommandContext
    ) -> Answer | NoAnswer:
        limits = ProgramLimits(request.timeout_seconds, self.context.timeouts.grace_seconds)
        session = self.context.open_door(self.agent)
        if session:
            session.begin(request.key.repetition, request.replay, request.caller)
        try:
            ran: Answer | NoAnswer | Ran = await self._run(
                request, session, limits, place, commands
            )
            late = isinstance(ran, Ran) and ran.end is End.TIMED_OUT
            seen = end_trial(session, limits.seconds, late=late)
        finally:
            if session:
                session.close()
        if isinstance(ran, Ran):
            ran = self._read(ran, request.input, seen.trace, limits)
        return untouched_tools(out_of_reach(ran, seen), request, session)

    async def _run(
        self,
        request: TrialRequest,
        session: Session | None,
        limits: ProgramLimits,
        place: Workplace,
        commands: CommandContext,
    ) -> Ran | NoAnswer:
        """Run the program once; what it gave back is in `stdout`, also where a file held it."""
        several = self.agent.runtime.around or bool(request.input.messages)  # in one HOME
        try:
            asking = self.asking(request.input, commands)
            program = self.program(asking, session, place, commands, several=several)
            ran = await self.programs.run(replace(program, stdin=asking.stdin), limits)
        except TemplateError as error:
            reason = f"The program cannot be asked: {error}."
            return no_start(reason, command_line(self.line))
        except NotStarted as error:
            return no_start(error.reason, command_line(self.line), error.cause)
        return self._with_file(ran, asking, limits)

    def program(
        self,
        asking: ProcessInvocation,
        session: Session | None,
        place: Workplace,
        commands: CommandContext,
        *,
        several: bool,
        listens: bool = False,
    ) -> Program:
        """Return what is started in a trial, for one that asks `several` in the same HOME; one that
        `listens` is told its questions later.
        """
        addresses, private = commands.addresses, commands.private
        door = door_environment(session, private)
        unbuffered = {"PYTHONUNBUFFERED": "1"} if listens else {}
        literals = with_tools({**unbuffered, **addresses.literals(self.agent.runtime.env)}, door)
        door |= redirection(self.agent.runtime, self.context, session, literals)
        return Program(
            asking.argv,
            place.folder,
            instance_environment(self.context.environ, self.name, private, literals, door),
            writes=(*((private.home,) if several else ()), *asking.writes, *commands.writes),
            reads=place.reads,
            ports=addresses.ports,
            listens=listens,
        )

    def _with_file(
        self, ran: Ran, asking: ProcessInvocation, limits: ProgramLimits
    ) -> Ran | NoAnswer:
        """Return what ran with the content of the answer's file in place of what it printed."""
        if asking.answer is None or ran.end is not End.EXITED or ran.code != 0:
            return ran
        try:
            return replace(ran, stdout=read_answer_file(*asking.answer, limits.stdout_bytes))
        except ClaimError as error:
            return self._unusable(error, ran)

    def _read(
        self, ran: Ran, asked: FixtureInput, recorded: Trace | None, limits: ProgramLimits
    ) -> Answer | NoAnswer:
        failed = self.failed(ran, limits)
        if failed is None:
            try:
                return answer_from(self.said(ran.stdout, asked), recorded, ran.seconds)
            except ClaimError as error:
                failed = self._unusable(error, ran)
        late = ran.end is End.TIMED_OUT
        return failed.model_copy(update={"trace": recorded, "timed_out": late})

    def _unusable(self, error: ClaimError, ran: Ran) -> NoAnswer:
        reason = f"The agent's answer cannot be used: {error}."
        return told(reason, ran, command_line(self.line))

    async def close(self) -> None:
        """End services, and kill what still runs."""
        await self._held.aclose()


_FLUSH = "It has to print each answer as one line and flush it."


class OneProcess:
    """A conversation with one process, which starts with the first turn. Its maker closes it."""

    def __init__(
        self,
        runtime: CommandRuntime,
        request: TrialRequest,
        place: Workplace,
        commands: CommandContext,
    ) -> None:
        self._runtime = runtime
        self._request = request
        self._place = place
        self._commands = commands
        self._held = contextlib.AsyncExitStack()
        self._running: Running | None = None
        self._session: Session | None = None
        self._turn = 0
        self._read_to = 0
        self._in_step = False
        self._slowest = 0.0
        grace = runtime.context.timeouts.grace_seconds
        self._limits = ProgramLimits(request.timeout_seconds, grace)

    async def say(self, asked: FixtureInput, seconds: float) -> Answer | NoAnswer:
        """Write what the user says now, and read the next line that is printed."""
        self._turn += 1
        now, clock = asked.told_once(first=self._turn == 1), self._runtime.context.clock
        try:
            asking = self._runtime.asking(now, self._commands, turns=True)
            line = one_line(asking.stdin)
            running = self._running or await self._start(asking)
        except TemplateError as error:
            return no_start(f"The program cannot be asked: {error}.", self._command)
        except NotStarted as error:
            return no_start(error.reason, self._command, error.cause)
        session, began = self._session, clock.monotonic()
        if session:
            trial = self._request
            session.begin(trial.key.repetition, trial.replay, trial.caller)
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

    async def aclose(self) -> None:
        """End the program, and its way to models."""
        try:
            if self._running is not None:
                await self._running.stop()
        finally:
            await self._held.aclose()

    @property
    def _command(self) -> str:
        return command_line(self._runtime.line)

    async def _start(self, asking: ProcessInvocation) -> Running:
        """Start the program. Raises `NotStarted`."""
        runtime, several = self._runtime, self._runtime.agent.runtime.around
        self._session = session = runtime.context.open_door(runtime.agent)
        if session:
            self._held.callback(session.close)
        program = runtime.program(
            asking, session, self._place, self._commands, several=several, listens=True
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
        silence: NoAnswer | None = None
        if late is not None:
            reason = f"The agent did not answer within {late:g} s. {_FLUSH}"
            silence = told(reason, await self._running.stop(), self._command)
        elif not printed.endswith(b"\n"):
            ran = await self._running.stop()
            silence = self._runtime.failed(ran, self._limits)
            if silence is None and not printed.strip():
                silence = told("The agent ended without an answer.", ran, self._command)
        if silence is None and self._runtime.may_refuse(printed):
            silence = self._runtime.refused(await self._running.stop())
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
