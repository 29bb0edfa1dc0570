"""Which calibrations of judges a run replays, and on which it relies; whose word counts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import partial

from gateval.domain.calibration import (
    CANARIES,
    Binding,
    CalibrationReplay,
    ModelVersion,
    new_fingerprints,
    unmeasured_versions,
    with_fingerprints,
)
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.doubts import binding_now, judge_doubt
from gateval.domain.trials.model_call import Caller
from gateval.judging.calibrating import (
    BY_THE_SYSTEM,
    IN_BATCHES,
    ONE_BY_ONE,
    judge_digests,
    replay,
    watch,
)
from gateval.judging.judge import Judge


class Agreements:
    """The replays of one run. Each is made once, and begins when the first trial needs it.

    Of those that the plan knows, canaries are asked in their place, mixed among the first questions
    of trials, whose verdicts wait for all of them. A judge that cannot be watched so is measured
    anew, one that answers under a new fingerprint is asked as many more, once a run, and what
    another job of the run measured stands. `keep` gets all of them. `callers` names the replay of
    an Eval's calibration, by its binding, for recordings.

    With `draw` the judge is asked in batches: all canaries at once, and a run that goes on has to
    draw the same ones, whose answers are under way.
    """

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        *,
        keep: Callable[[CalibrationReplay], None] = lambda _: None,
        callers: Callable[[PlannedEval, str], Caller | None] = lambda _planned, _binding: None,
        draw: str = "",
    ) -> None:
        self._draw, self._rules = draw, IN_BATCHES if draw else ONE_BY_ONE
        self._plan = plan
        self._judge = judge
        self._keep = keep
        self._callers = callers
        self._known = {
            one.binding.digest: one
            for one in plan.agreements
            if one.can_be_watched or one.is_of_this_run
        }
        self._turns = {name: asyncio.Semaphore(0) for name in self._known}
        self._made: dict[tuple[str, _Kind], asyncio.Task[CalibrationReplay]] = {}

    def begun(self, planned: PlannedEval, fixture: Fixture) -> Callable[[], Awaitable[str]]:
        """Take in that a trial of this fixture is assessed now; return what tells its doubt."""
        if fixture.is_judged and planned.wants_calibration:
            self._replay(planned)
        return partial(self.doubt, planned)

    async def doubt(self, planned: PlannedEval) -> str:
        """Return why the word of this Eval's judge does not count; empty if it does."""
        if not planned.wants_calibration:
            return ""
        found = await self._found(planned)
        if found is not None and (new := self._unmeasured(found)):
            return (
                f"{new[0].model} answers as {new[0].version}, and {found.calibration} was replayed "
                "with another version"
            )
        replays = () if found is None else (found,)
        return judge_doubt(planned, replays, self._plan.policy.judge)

    def _unmeasured(self, known: CalibrationReplay) -> tuple[ModelVersion, ...]:
        """The versions in which its judge has answered this run, and not that replay."""
        return unmeasured_versions(self._judge.seen.versions, known.versions)

    async def close(self) -> None:
        """End replays that nobody waits for any more."""
        for task in self._made.values():
            task.cancel()
        await asyncio.gather(*self._made.values(), return_exceptions=True)

    async def _found(self, planned: PlannedEval) -> CalibrationReplay | None:
        """Return what is known of an Eval's judge by now; None where nothing measures it."""
        if (task := self._replay(planned)) is None:
            return None
        made = await asyncio.shield(task)
        if made.watch is None:
            return made
        if self._unmeasured(made):  # its canaries told that
            return await asyncio.shield(self._task(planned, made.binding, _Kind.ANEW))
        met = new_fingerprints(self._judge.seen.versions, made.versions)
        if met and made.watch.asked <= CANARIES:
            return await asyncio.shield(self._task(planned, made.binding, _Kind.MORE, made))
        return made

    def _replay(self, planned: PlannedEval) -> asyncio.Task[CalibrationReplay] | None:
        """Begin what tells of an Eval's judge, or have it go on; None where nothing measures it."""
        bound = binding_now(self._plan, planned, judge_digests())
        if bound is None:
            return None
        known = self._known.get(bound.digest)
        if known is None or self._unmeasured(known):
            return self._task(planned, bound, _Kind.ANEW)
        self._turns[bound.digest].release()
        return self._task(planned, bound, _Kind.KNOWN, known)

    def _task(
        self,
        planned: PlannedEval,
        bound: Binding,
        kind: _Kind,
        known: CalibrationReplay | None = None,
    ) -> asyncio.Task[CalibrationReplay]:
        """The one task of its kind for all whose judge has this binding."""
        name = (bound.digest, kind)
        if name not in self._made:
            self._made[name] = asyncio.create_task(self._make(planned, bound, kind, known))
        return self._made[name]

    async def _make(
        self, planned: PlannedEval, bound: Binding, kind: _Kind, known: CalibrationReplay | None
    ) -> CalibrationReplay:
        calibration, spec = planned.calibration, planned.judge
        assert calibration is not None  # noqa: S101 - seen by the caller
        if known is not None and known.is_of_this_run and kind is _Kind.KNOWN:
            return known
        judge = self._judge.of(self._callers(planned, bound.digest))
        if known is None:
            made = await replay(
                calibration,
                spec,
                judge,
                script=bound.script,
                retests=self._plan.retests,
                attacked=bool(bound.attacks),
                rules=self._rules,
            )
        else:
            judges = sum(not one.examples for one in self._known.values())
            turns = self._turns[bound.digest] if kind is _Kind.KNOWN and not self._draw else None
            seed = f"{self._draw} {bound.digest} {kind}"
            draw = random.Random(seed) if self._draw else BY_THE_SYSTEM  # noqa: S311 - it is secret
            made = await watch(
                known, calibration, spec, judge, judges, turns, rules=self._rules, draw=draw
            )
        if kind is _Kind.MORE:
            met = with_fingerprints(made.versions, self._judge.seen.versions)
            made = made.replace(versions=met)
        self._keep(made)
        return made


class _Kind(Enum):
    """How a replay is made: anew, by watching what is known, or by asking more canaries."""

    ANEW = auto()
    KNOWN = auto()
    MORE = auto()
