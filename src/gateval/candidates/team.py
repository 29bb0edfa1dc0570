"""All candidates of a run: started when first needed, prepared once, always torn down."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from gateval.candidates.base import Runtime, RuntimeContext, TrialRequest
from gateval.candidates.process.failures import from_the_export
from gateval.candidates.process.once import Once
from gateval.candidates.registry import RUNTIMES
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.repository.place import nearest
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side

Key = tuple[str, Side]


class Candidates:
    """Asks the right candidate. Use it as `async with Candidates(context) as candidates`."""

    def __init__(
        self, context: RuntimeContext, runtimes: Mapping[str, type[Runtime]] = RUNTIMES
    ) -> None:
        self._surroundings = context
        self._types = runtimes
        self._started: dict[Key, Runtime] = {}
        self._ready: Once[NoAnswer | None] = Once()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def answer(self, agent: AgentDefinition, request: TrialRequest) -> Answer | NoAnswer:
        """Have this Agent answer. Prepares it first, once for all trials that ask for it.

        A runtime that raises is a fault of the gate, and costs this trial only.
        """
        try:
            runtime = self._runtime(agent)
            if isinstance(runtime, NoAnswer):
                return runtime
            key = (agent.name, agent.side)
            failed = await self._ready.get(key, lambda: _prepared(runtime))
            answer = failed or await runtime.answer(request)
        except Exception as error:  # noqa: BLE001 - one broken runtime must not end the run
            answer = _gate_fault(agent.runtime.type, error)
        if isinstance(answer, NoAnswer):
            return from_the_export(answer, self._surroundings.scratch)
        return answer

    async def close(self) -> None:
        """Close all runtimes, each even when one fails or the task is cancelled meanwhile."""
        self._closed = True
        first: BaseException | None = None
        while self._started:
            _, runtime = self._started.popitem()
            try:
                await runtime.close()
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - raised below
                first = first or error
        if first is not None:
            raise first

    def _runtime(self, agent: AgentDefinition) -> Runtime | NoAnswer:
        key = (agent.name, agent.side)
        if self._closed:
            return NoAnswer(cause=Cause.GATE, reason="The run is over, so nothing more is started.")
        if key not in self._started:
            wanted = agent.runtime.type
            if wanted not in self._types:
                hint = nearest(wanted, self._types)
                reason = f"The Agent asks for the runtime `{wanted}`, which is unknown.{hint}"
                return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
            self._started[key] = self._types[wanted](agent, self._surroundings)
        return self._started[key]


async def _prepared(runtime: Runtime) -> NoAnswer | None:
    try:
        return await runtime.prepare()
    except Exception as error:  # noqa: BLE001 - remembered, so that it is not tried per trial
        return _gate_fault(runtime.type, error)


def _gate_fault(runtime: str, error: Exception) -> NoAnswer:
    said = f"{type(error).__name__}: {error}"
    reason = f"The runtime `{runtime}` of the gate failed ({said}); please report this as a bug."
    return NoAnswer(cause=Cause.GATE, reason=reason)
