"""Replays the calibrations of a plan beside its trials, and says whose judges may decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateval.domain.calibration import CalibrationReplay
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.doubts import binding_now, judge_doubt
from gateval.judging.judge import Judge, prompt_digest, replay


class Agreements:
    """The replays of one run. Each is made once, and begins when the first trial needs it. Those
    that the plan knows need not be made; `keep` gets those that are.
    """

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        *,
        keep: Callable[[CalibrationReplay], None] = lambda _: None,
    ) -> None:
        self._plan = plan
        self._judge = judge
        self._keep = keep
        self._known = {one.binding.digest: one for one in plan.agreements}
        self._made: dict[str, asyncio.Task[CalibrationReplay]] = {}

    async def doubt(self, planned: PlannedEval) -> str:
        """Return why the word of this Eval's judge does not count; empty if it does."""
        if not planned.wants_calibration:
            return ""
        found = await self._replay(planned)
        return judge_doubt(planned, found, self._plan.policy.judge)

    async def close(self) -> None:
        """End replays that nobody waits for any more."""
        for task in self._made.values():
            task.cancel()
        await asyncio.gather(*self._made.values(), return_exceptions=True)

    async def _replay(self, planned: PlannedEval) -> tuple[CalibrationReplay, ...]:
        bound = binding_now(self._plan, planned, prompt_digest())
        if bound is None:
            return ()
        if bound.digest in self._known:
            return (self._known[bound.digest],)
        task = self._made.get(bound.digest)
        if task is None:
            task = asyncio.create_task(self._make(planned, bound.script))
            self._made[bound.digest] = task
        return (await asyncio.shield(task),)

    async def _make(self, planned: PlannedEval, script: str) -> CalibrationReplay:
        assert planned.calibration is not None  # noqa: S101 - seen by the caller
        made = await replay(planned.calibration, planned.judge, self._judge, script=script)
        self._keep(made)
        return made
