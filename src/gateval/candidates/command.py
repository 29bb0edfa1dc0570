"""The runtime `command`: one process per trial, the question on its input, the answer printed."""

from __future__ import annotations

from gateval.candidates.allowlist import instance_environment
from gateval.candidates.base import ModelSession, Runtime, RuntimeContext, TrialRequest
from gateval.candidates.contract.claims import ClaimError
from gateval.candidates.contract.question import Said, read_answer, write_question
from gateval.candidates.process.failures import command_line, failure, no_start, out_of_reach, told
from gateval.candidates.process.program import End, Limits, NotStarted, Program, Ran
from gateval.candidates.workplace import Workplace, prepare_workplace
from gateval.domain.base import Spec
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Answer, Cause, NoAnswer


class CommandOptions(Spec):
    """`command` has no keys of its own beyond the shared `cwd`, `setup`, `command` and `env`."""


class CommandRuntime(Runtime):
    """Starts `runtime.command` in the export for each trial. Speaks `contract.py`."""

    type = "command"
    options = CommandOptions
    requires = ("command",)

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        from gateval.candidates.process.processes import Programs  # asyncio: `plan` does without it

        super().__init__(agent, context)
        self._programs = Programs(context.clock, context.starter)
        self._place: Workplace | None = None

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
        from gateval.candidates.process.private import private_folders

        if self._place is None:
            return NoAnswer(cause=Cause.GATE, reason="The candidate was asked before it was ready.")
        argv = self.agent.runtime.command
        async with private_folders(self.context.scratch) as private:
            env = instance_environment(
                self.context.environ,
                literals=self.agent.runtime.env,
                door=session.environment() if session else {},
                home=str(private.home),
                tmp=str(private.tmp),
                name=self.name,
            )
            asked, place = write_question(request.input), self._place
            program = Program(argv, place.folder, env, asked, reads=place.reads)
            try:
                return await self._programs.run(program, limits)
            except NotStarted as error:
                return no_start(error.reason, command_line(argv), error.cause)

    def _read(self, ran: Ran, recorded: Trace | None, limits: Limits) -> Answer | NoAnswer:
        argv = self.agent.runtime.command
        failed = failure("The candidate", ran, argv, limits)
        if failed is None:
            try:
                return _answer(read_answer(ran.stdout), recorded, ran.seconds)
            except ClaimError as error:
                failed = told(
                    f"The candidate's answer cannot be used: {error}.", ran, command_line(argv)
                )
        late = ran.end is End.TIMED_OUT
        return failed.model_copy(update={"trace": recorded, "timed_out": late})

    async def close(self) -> None:
        """Kill what still runs."""
        await self._programs.close()


def _answer(said: Said, recorded: Trace | None, seconds: float) -> Answer:
    """What the gate saw at the model door wins over what the candidate claims."""
    trace, usage = said.trace, said.usage
    if recorded is not None:
        trace, usage = recorded, recorded.usage
    return Answer(output=said.output, trace=trace, usage=usage, seconds=seconds)
