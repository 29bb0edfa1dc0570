"""All candidates of a run: started when first needed, prepared once, always torn down."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Self

from gateval.candidates.attaching import with_contents
from gateval.candidates.base import Runtime, RuntimeContext, TrialRequest
from gateval.candidates.hints import Hints
from gateval.candidates.process.failures import from_the_export, repeating
from gateval.candidates.process.once import Once
from gateval.candidates.registry import RUNTIMES, RuntimeType
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.repository.place import nearest
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from gateval.errors import RepositoryError

Key = tuple[str, Side, int]


class Candidates:
    """Asks the right candidate. Use it as `async with Candidates(context) as candidates`."""

    def __init__(
        self, context: RuntimeContext, runtimes: Mapping[str, RuntimeType] = RUNTIMES
    ) -> None:
        self._context = context
        self._types = runtimes
        self._started: dict[Key, Runtime] = {}
        self._rests = dict.fromkeys(Side, 0)
        self._ready: Once[NoAnswer | None] = Once()
        self._hints = Hints(context)
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def answer(self, agent: AgentDefinition, request: TrialRequest) -> Answer | NoAnswer:
        """Have this Agent answer. Prepares it first, once for all trials that ask for it.

        A runtime that raises is a fault of the gate, and costs this trial only.
        """
        prepared = True
        try:
            runtime = self._runtime(agent)
            if isinstance(runtime, NoAnswer):
                return runtime
            key = self._key(agent)
            failed = await self._ready.get(key, lambda: _prepared(runtime))
            prepared = failed is None
            answer = failed or await self._asked(runtime, request)
        except Exception as error:  # noqa: BLE001 - one broken runtime must not end the run
            answer = _gate_fault(agent.runtime.type, error)
        if isinstance(answer, NoAnswer):
            told = from_the_export(answer, self._context.scratch)
            return repeating(self._hints.explained(told, agent), prepared=prepared)
        return answer

    async def _asked(self, runtime: Runtime, request: TrialRequest) -> Answer | NoAnswer:
        try:
            whole = await with_contents(request, self._context.exports)
        except RepositoryError as error:
            return NoAnswer(cause=Cause.GATE, reason=error.sentence)
        return await (runtime.converse(whole) if whole.turns else runtime.answer(whole))

    async def rest(self, side: Side) -> None:
        """End everything that runs for a side. It starts anew when it is asked again."""
        self._rests[side] += 1
        await self._close([key for key in self._started if key[1] is side])

    async def end_all(self) -> str:
        """End everything that runs for either side, as `rest` does; return a clause on what lives
        all the same, empty if nothing does.
        """
        for side in Side:
            await self.rest(side)
        return await self._context.starter.emptied()

    async def close(self) -> None:
        """Close all runtimes, each even when one fails or the task is cancelled meanwhile."""
        self._closed = True
        self._hints.tell()
        await self._close(list(self._started))

    async def _close(self, keys: Sequence[Key]) -> None:
        first: BaseException | None = None
        for key in keys:
            runtime = self._started.pop(key)
            try:
                await runtime.close()
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - raised below
                first = first or error
        if first is not None:
            raise first

    def _key(self, agent: AgentDefinition) -> Key:
        return (agent.name, agent.side, self._rests[agent.side])

    def _runtime(self, agent: AgentDefinition) -> Runtime | NoAnswer:
        key = self._key(agent)
        if self._closed:
            return NoAnswer(cause=Cause.GATE, reason="The run is over, so nothing more is started.")
        if key not in self._started:
            wanted = agent.runtime.type
            if wanted not in self._types:
                hint = nearest(wanted, self._types)
                reason = f"The Agent asks for the runtime `{wanted}`, which is unknown.{hint}"
                return NoAnswer(cause=Cause.CANDIDATE, reason=reason)
            self._started[key] = self._types[wanted].load()(agent, self._context)
        return self._started[key]


async def _prepared(runtime: Runtime) -> NoAnswer | None:
    try:
        return await runtime.prepare()
    except Exception as error:  # noqa: BLE001 - remembered, so that it is not tried per trial
        return _gate_fault(runtime.agent.runtime.type, error)


def _gate_fault(runtime: str, error: Exception) -> NoAnswer:
    said = f"{type(error).__name__}: {error}"
    reason = f"The runtime `{runtime}` of the gate failed ({said}); please report this as a bug."
    return NoAnswer(cause=Cause.GATE, reason=reason)
