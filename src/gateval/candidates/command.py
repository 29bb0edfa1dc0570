"""The runtime `command`: one process per trial, told the question and asked for its answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gateval.candidates.allowlist import instance_environment
from gateval.candidates.base import ModelSession, Runtime, RuntimeContext, TrialRequest
from gateval.candidates.bounded import template
from gateval.candidates.contract.claims import ClaimError
from gateval.candidates.contract.invocation import (
    CommandOptions,
    write_stdin,
    write_words,
)
from gateval.candidates.contract.question import Said
from gateval.candidates.contract.response import read_response
from gateval.candidates.process.answer_file import read_answer_file
from gateval.candidates.process.failures import command_line, failure, no_start, out_of_reach, told
from gateval.candidates.process.program import End, Limits, NotStarted, Program, Ran
from gateval.candidates.workplace import Workplace, prepare_workplace
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from gateval.formats.templates.parts import TemplateError


class CommandRuntime(Runtime):
    """Starts `runtime.command` in the export for each trial. Speaks `contract/`."""

    type = "command"
    options = CommandOptions
    requires = ("command",)

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        from gateval.candidates.process.processes import Programs  # asyncio: `plan` does without it

        super().__init__(agent, context)
        self._programs = Programs(context.clock, context.starter)
        self._options = CommandOptions.model_validate(agent.runtime.options)
        self._place: Workplace | None = None

    @staticmethod
    def check_word(word: str) -> None:
        """Look at a word, which is a template. Raises `ValueError`."""
        template.check(word)

    async def prepare(self) -> NoAnswer | None:
        """Export the revision and set it up."""
        if not self.agent.runtime.command:
            reason = "The Agent says `runtime.type: command`, but not which runtime.command to run."
            return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
        place = await prepare_workplace(self.agent, self.context, self._programs, self.name)
        if isinstance(place, NoAnswer):
            return place
        self._place = place
        return None

    async def answer(self, request: TrialRequest) -> Answer | NoAnswer:
        """Run the command once and read what it printed."""
        limits = Limits(
            seconds=request.timeout_seconds,
            grace_seconds=self.context.timeouts.grace_seconds,
        )
        door = self.context.door
        agent = self.agent
        session = door.open(agent.side, agent.models, agent.uses) if door else None
        trouble = recorded = None
        if session:
            session.begin(request.key.repetition)
        try:
            ran = await self._run(request, session, limits)
            late = isinstance(ran, Ran) and ran.end is End.TIMED_OUT
            trouble = session.trouble(limits.seconds, late=late) if session else None
            recorded = session.end() if session else None
        finally:
            if session:
                session.close()
        given = ran if isinstance(ran, NoAnswer) else self._read(ran, recorded, limits)
        return out_of_reach(given, trouble, recorded)

    async def _run(
        self, request: TrialRequest, session: ModelSession | None, limits: Limits
    ) -> Ran | NoAnswer:
        """Run the program once; what it gave back is in `stdout`, also where a file held it."""
        from gateval.candidates.process.private import private_folders

        if self._place is None:
            return NoAnswer(cause=Cause.GATE, reason="The candidate was asked before it was ready.")
        written, place = self.agent.runtime.command, self._place
        async with private_folders(self.context.scratch) as private:
            home = str(private.home)
            env = instance_environment(
                self.context.environ,
                literals=self.agent.runtime.env,
                door=session.environment() if session else {},
                home=home,
                tmp=str(private.tmp),
                name=self.name,
            )
            try:
                argv = write_words(written, request.input, home)
                asked = write_stdin(self._options.stdin, request.input)
                program = Program(argv, place.folder, env, asked, reads=place.reads)
                ran = await self._programs.run(program, limits)
            except TemplateError as error:
                reason = f"The program cannot be asked: {error}."
                return no_start(reason, command_line(written))
            except NotStarted as error:
                return no_start(error.reason, command_line(written), error.cause)
            return self._with_file(ran, private.home, limits)

    def _with_file(self, ran: Ran, home: Path, limits: Limits) -> Ran | NoAnswer:
        """Return what ran with the content of the answer's file in place of what it printed."""
        name = self._options.response.file
        if name is None or ran.end is not End.EXITED or ran.code != 0:
            return ran
        try:
            return replace(ran, stdout=read_answer_file(home, name, limits.stdout_bytes))
        except ClaimError as error:
            return self._unusable(error, ran)

    def _read(self, ran: Ran, recorded: Trace | None, limits: Limits) -> Answer | NoAnswer:
        failed = failure("The candidate", ran, self.agent.runtime.command, limits)
        if failed is None:
            try:
                said = read_response(self._options.response, ran.stdout)
                return _answer(said, recorded, ran.seconds)
            except ClaimError as error:
                failed = self._unusable(error, ran)
        late = ran.end is End.TIMED_OUT
        return failed.model_copy(update={"trace": recorded, "timed_out": late})

    def _unusable(self, error: ClaimError, ran: Ran) -> NoAnswer:
        reason = f"The candidate's answer cannot be used: {error}."
        return told(reason, ran, command_line(self.agent.runtime.command))

    async def close(self) -> None:
        """Kill what still runs."""
        await self._programs.close()


def _answer(said: Said, recorded: Trace | None, seconds: float) -> Answer:
    """Return the answer; the gateway's trace wins over the candidate's claims."""
    trace, usage = said.trace, said.usage
    if recorded is not None:
        trace, usage = recorded, recorded.usage
    return Answer(output=said.output, trace=trace, usage=usage, seconds=seconds)
