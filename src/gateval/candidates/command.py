"""The runtime `command`: one process per trial, told the question and asked for its answer."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gateval.candidates.base import Runtime, RuntimeContext, TrialRequest
from gateval.candidates.beside.beside import Beside
from gateval.candidates.beside.commands import Ground
from gateval.candidates.contract.claims import ClaimError
from gateval.candidates.contract.invocation import write_stdin, write_words
from gateval.candidates.contract.options import CommandOptions
from gateval.candidates.contract.question import ProgramAnswer, answer_from
from gateval.candidates.contract.response import only_line, read_response
from gateval.candidates.doors.models import ModelSession, end_trial
from gateval.candidates.doors.tools import door_environment, untouched_tools, with_tools
from gateval.candidates.environment import instance_environment
from gateval.candidates.playground.made import beginning, told_of, writable
from gateval.candidates.preparing.workplace import Workplace
from gateval.candidates.process.answer_file import read_answer_file
from gateval.candidates.process.failures import command_line, failure, no_start, out_of_reach, told
from gateval.candidates.process.private import private_folders
from gateval.candidates.process.processes import Programs
from gateval.candidates.process.program import End, Limits, NotStarted, Program, Ran
from gateval.candidates.serving.launch import prepare_launch
from gateval.domain.manifests.agent import ConversationMode
from gateval.domain.manifests.fixture import FixtureInput
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.formats.templates.parts import TemplateError


class AskedProcess(NamedTuple):
    """How a program is asked: its words, what it reads on standard input, the folders that it may
    write beside HOME and TMPDIR, and the file in which it answers, in one of these or HOME.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    writes: tuple[Path, ...] = ()
    answer: tuple[Path, str] | None = None


class CommandRuntime(Runtime):
    """Starts `runtime.command` in the export for each trial. Speaks `contract/`.

    Another contract overrides `line`, `asking` and `said`.
    """

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self.programs = Programs(context.clock, context.starter)
        self._beside: Beside | None = None

    @property
    def line(self) -> tuple[str, ...]:
        """The words of the program as the manifest has them."""
        return self.agent.runtime.command

    @functools.cached_property
    def options_given(self) -> CommandOptions:
        """The options as the manifest has them."""
        return CommandOptions.model_validate(self.agent.runtime.options)

    def asking(self, asked: FixtureInput, ground: Ground) -> AskedProcess:
        """Return how the program is asked. Raises `TemplateError`."""
        home, file = ground.private.home, self.options_given.response.file
        at = ground.addresses
        argv = write_words(self.line, asked, str(home), at.fill, at.playground)
        stdin = write_stdin(self.options_given.stdin, asked, at.playground)
        return AskedProcess(argv, stdin, answer=(home, file) if file else None)

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
        launch = await prepare_launch(self, self.programs)
        if isinstance(launch, NoAnswer):
            return launch
        self._beside = Beside(launch)
        lease = await self._beside.services.lease()
        return lease if isinstance(lease, NoAnswer) else None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Run the command once and read what it printed."""
        return await self._trial(request, lambda place, ground: self._asked(request, place, ground))

    async def converse(self, request: TrialRequest) -> Answer | NoAnswer:
        """Run it for each turn, or have one process go on if the Agent says so."""
        from gateval.candidates.one_process import OneProcess
        from gateval.candidates.talk import EachAnew, converse

        def talk(place: Workplace, ground: Ground) -> Awaitable[Answer | NoAnswer]:
            if self.agent.runtime.conversation is ConversationMode.PROCESS:
                going_on = OneProcess(self, request, place, ground)
                return converse(going_on, request, self.context.clock)
            anew = EachAnew(request, lambda one: self._asked(one, place, ground))
            return converse(anew, request, self.context.clock)

        return await self._trial(request, talk)

    async def _trial(
        self,
        request: TrialRequest,
        ask: Callable[[Workplace, Ground], Awaitable[Answer | NoAnswer]],
    ) -> Answer | NoAnswer:
        """Have `ask` ask the program, in a HOME of the trial and beside its services."""
        beside = self._beside
        if beside is None:
            return NoAnswer(cause=Cause.GATE, reason="The candidate was asked before it was ready.")
        async with beside.turn, private_folders(self.context.scratch) as private:
            lease = await beside.services.lease()
            if isinstance(lease, NoAnswer):
                return lease
            addresses = told_of(request.playground, lease.addresses)
            ground = Ground(addresses, private, writes=writable(request.playground))
            begins = beginning(self.agent, beside.launch.place, request.playground)
            return await beside.trial(lease, ground, lambda: ask(begins, ground))

    async def _asked(
        self, request: TrialRequest, place: Workplace, ground: Ground
    ) -> Answer | NoAnswer:
        limits = Limits(
            seconds=request.timeout_seconds,
            grace_seconds=self.context.timeouts.grace_seconds,
        )
        session = self.context.open_door(self.agent)
        if session:
            session.begin(request.key.repetition, request.replay)
        try:
            ran = await self._run(request, session, limits, place, ground)
            late = isinstance(ran, Ran) and ran.end is End.TIMED_OUT
            seen = end_trial(session, limits.seconds, late=late)
        finally:
            if session:
                session.close()
        given = (
            ran if isinstance(ran, NoAnswer) else self._read(ran, request.input, seen.trace, limits)
        )
        return untouched_tools(out_of_reach(given, seen), request, session)

    async def _run(
        self,
        request: TrialRequest,
        session: ModelSession | None,
        limits: Limits,
        place: Workplace,
        ground: Ground,
    ) -> Ran | NoAnswer:
        """Run the program once; what it gave back is in `stdout`, also where a file held it."""
        runtime, addresses, private = self.agent.runtime, ground.addresses, ground.private
        door = door_environment(session, private)
        literals = with_tools(addresses.literals(runtime.env), door)
        env = instance_environment(self.context.environ, self.name, private, literals, door)
        try:
            asking = self.asking(request.input, ground)
            several = runtime.around or request.input.messages  # programs in one HOME
            writes = (*((private.home,) if several else ()), *asking.writes, *ground.writes)
            program = Program(
                asking.argv,
                place.folder,
                env,
                asking.stdin,
                writes,
                place.reads,
                ports=addresses.ports,
            )
            ran = await self.programs.run(program, limits)
        except TemplateError as error:
            reason = f"The program cannot be asked: {error}."
            return no_start(reason, command_line(self.line))
        except NotStarted as error:
            return no_start(error.reason, command_line(self.line), error.cause)
        return self._with_file(ran, asking, limits)

    def _with_file(self, ran: Ran, asking: AskedProcess, limits: Limits) -> Ran | NoAnswer:
        """Return what ran with the content of the answer's file in place of what it printed."""
        if asking.answer is None or ran.end is not End.EXITED or ran.code != 0:
            return ran
        try:
            return replace(ran, stdout=read_answer_file(*asking.answer, limits.stdout_bytes))
        except ClaimError as error:
            return self._unusable(error, ran)

    def _read(
        self, ran: Ran, asked: FixtureInput, recorded: Trace | None, limits: Limits
    ) -> Answer | NoAnswer:
        failed = failure("The agent", ran, self.line, limits)
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
        try:
            if self._beside is not None:
                await self._beside.close()
        finally:
            await self.programs.close()
