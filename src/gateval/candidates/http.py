"""The runtime `http`: the Agent is a server that the gate starts and asks, trial after trial."""

from __future__ import annotations

from gateval.candidates.base import Runtime, RuntimeContext, TrialRequest
from gateval.candidates.beside.beside import Beside
from gateval.candidates.preparing.set_up import tell
from gateval.candidates.process.processes import Programs
from gateval.candidates.serving.launch import prepare_launch
from gateval.candidates.serving.options import HttpOptions
from gateval.candidates.serving.pool import Pool
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer


class HttpRuntime(Runtime):
    """Starts `runtime.command` in the export as a server, and sends each trial as a request."""

    def __init__(self, agent: AgentDefinition, context: RuntimeContext) -> None:
        super().__init__(agent, context)
        self._programs = Programs(context.clock, context.starter)
        self._pool: Pool | None = None
        self._beside: Beside | None = None

    async def prepare(self) -> NoAnswer | None:
        """Export the revision, set it up, and start the first instance."""
        options = HttpOptions.model_validate(self.agent.runtime.options)
        launch = await prepare_launch(self, self._programs, options.ready)
        if isinstance(launch, NoAnswer):
            return launch
        tell(self.agent, self.context, "start")
        self._beside = Beside(launch)
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
