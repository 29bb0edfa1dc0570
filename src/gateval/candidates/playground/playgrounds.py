"""Makes a playground for each trial that wants one, and removes it however the trial ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from gateval.candidates.base import RuntimeContext
from gateval.candidates.beside.addresses import Addresses, Playground
from gateval.candidates.checks import CheckExports
from gateval.candidates.environment import candidate_environment
from gateval.candidates.playground.copies import NotCopied, copied
from gateval.candidates.playground.programs import Helpers
from gateval.candidates.playground.starts import CannotStart, Starts, WantedStart
from gateval.candidates.playground.state import EndState
from gateval.candidates.playground.waiting import WaitingStates
from gateval.candidates.preparing.workplace import Workplace
from gateval.candidates.process.failures import from_the_export
from gateval.candidates.process.private import remove_tree
from gateval.candidates.process.processes import Programs
from gateval.candidates.serving.instance import Instance, start_instance
from gateval.candidates.serving.launch import Launch
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixtures.playground import PlaygroundService
from gateval.domain.plan.plan import AgentDefinition, Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.trials.trial import Cause, NoAnswer


class ReadyPlayground(NamedTuple):
    """A playground for the candidate, and its end state for assertions."""

    playground: Playground
    state: EndState


class Playgrounds:
    """Makes them. Use it as `async with Playgrounds(...) as playgrounds`."""

    def __init__(self, context: RuntimeContext, plan: Plan, exports: CheckExports) -> None:
        """`exports` gives the files. Of `context.environ`, what the policy passes to candidates
        alone is not given to what runs in a playground.
        """
        self._context = replace(context, environ=candidate_environment(context.environ))
        self._plan = plan
        self._programs = Programs(context.clock, context.starter)
        self._name = f"playground-{context.run}"
        self._helpers = Helpers(self._programs, self._context.environ, self._name)
        self._starts = Starts(exports, self._helpers, context.scratch)
        self.waiting = WaitingStates(context.run, context.scratch)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._programs.close()
        finally:
            self.waiting.close()

    @contextlib.asynccontextmanager
    async def opened(
        self, agent: AgentDefinition, planned: PlannedEval, fixture: Fixture
    ) -> AsyncIterator[ReadyPlayground | NoAnswer]:
        """Give a fresh playground for a trial of this fixture, which has one, or why there is none.

        Its files are head's, or the target branch's where that is the bar, on both sides alike.
        It is no fault of a candidate if it cannot be made.
        """
        revision = self._plan.base_tip if planned.bar else self._plan.head
        async with contextlib.AsyncExitStack() as stack:
            made: ReadyPlayground | NoAnswer
            try:
                wanted = WantedStart.of(fixture, revision)
                made = await self._made(wanted, agent, stack, sealed=planned.sealed)
            except CannotStart as error:
                made = self._not_made(error.silence)
            except (NotCopied, OSError) as error:
                made = self._not_made(NoAnswer(cause=Cause.GATE, reason=str(error)))
            yield made

    async def _made(
        self,
        wanted: WantedStart,
        agent: AgentDefinition,
        stack: contextlib.AsyncExitStack,
        *,
        sealed: bool,
    ) -> ReadyPlayground:
        start, context = await self._starts.of(wanted), self._context
        root = await self._copy(start.root, stack)
        at = Addresses().inside(str(root), wanted.spec.env)
        served: dict[str, Instance] = {}
        for service in wanted.spec.services:
            work = await self._copy(start.services.get(service.name, start.root), stack)
            started = await self._started(service, agent, work, at)
            stack.push_async_callback(started.stop)
            served[service.name] = started
            at = at.beside(service, started.host, started.port)
        playground = Playground(root, at)
        state = EndState(playground, served, self._helpers, context.scratch, sealed=sealed)
        return ReadyPlayground(playground, state)

    async def _copy(self, source: Path, stack: contextlib.AsyncExitStack) -> Path:
        copy = await asyncio.to_thread(copied, source, self._context.scratch)
        stack.push_async_callback(asyncio.to_thread, remove_tree, copy)
        return copy

    async def _started(
        self, service: PlaygroundService, agent: AgentDefinition, work: Path, at: Addresses
    ) -> Instance:
        """Start a service in a folder of its own, beside others. Raises `CannotStart`."""
        launch = Launch(
            agent,
            self._context,
            self._programs,
            Workplace(work),
            self._name,
            service.command,
            service.env,
            service.ready,
            what=f"The service `{service.name}` of the playground",
            key="spec.playground.services",
            asks_models=False,
            addresses=at.inside(str(work), {}),
            writes=(work,),
        )
        started = await start_instance(launch)
        if isinstance(started, NoAnswer):
            raise CannotStart(started)
        return started

    def _not_made(self, silence: NoAnswer) -> NoAnswer:
        """Return why there is no playground; no candidate is to blame."""
        told = from_the_export(silence, self._context.scratch)
        cause = Cause.GATE if told.cause is Cause.GATE else Cause.CHECK
        reason = f"The playground could not be made. {told.reason}"
        return told.model_copy(update={"cause": cause, "reason": reason, "timed_out": False})
