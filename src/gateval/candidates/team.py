"""All candidates of a run: started when first needed, prepared once, always torn down."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Self

from gateval.candidates.base import Runtime, RuntimeContext, TrialRequest, with_contents
from gateval.candidates.failures import from_the_export, repeating
from gateval.candidates.isolation.visible_paths import passed_over
from gateval.candidates.once import Once
from gateval.candidates.registry import RUNTIMES, RuntimeType
from gateval.domain.paths import nearest
from gateval.domain.plan.absent import (
    AbsentFile,
    absent_files,
    absent_sentence,
    is_explained,
    missed_sentence,
    plain_hint,
)
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.planning.outside import asked_programs
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from gateval.errors import RepositoryError
from gateval.events import CandidateWarned
from gateval.ports.model_calls import REFUSED, NoPortLeft

_REFUSED_PORT = re.compile(
    r"\[Errno 13\] [Pp]ermission denied\W*$|listen EACCES|bind: permission denied|bind\(\).*denied"
)
"""How programs say that they may not listen: of a file, they name it."""

_KEPT = 1_000
"""Missed files that are kept for one Agent on one side."""


class Hints:
    """Names the file in the reason where the output fits one; else tells the plain hint, once. In
    the end all files that were missed are told in one warning for each Agent and side.
    """

    def __init__(self, context: RuntimeContext) -> None:
        self._context = context
        self._hinted: set[str] = set()
        self._missed: dict[tuple[str, Side], dict[str, AbsentFile]] = {}

    def explained(self, silence: NoAnswer, agent: AgentDefinition) -> NoAnswer:
        """Return why there is no answer, with the file that the candidate seems to have missed."""
        at_fault = silence.cause is Cause.CANDIDATE and agent.runtime.starts_process
        told = is_explained(silence.reason) or silence.reason.startswith(REFUSED)
        if not at_fault or told:
            return silence
        # what only failures need compiles a hundred patterns
        from gateval.domain.setup import program_install
        from gateval.domain.setup.no_edits import address_advice

        try:
            around = self._context.exports.around(agent)
        except RepositoryError:
            return silence
        lines = (silence.reason, *silence.detail[1:])
        absent, advice = tuple(absent_files(lines, agent.cwd, around)), ""
        if absent:
            missed = self._missed.setdefault((agent.name, agent.side), {})
            for one in absent:
                if len(missed) < _KEPT:
                    missed.setdefault(one.path, one)
            advice = absent_sentence(agent.name, absent[0])
        else:
            missing = program_install.set_up_advice(lines, agent.cwd, around.given | around.outside)
            advice = self._passed_over(agent) if missing else ""
            advice = advice or ("" if agent.runtime.setup else missing)
        made = silence.calls.made if silence.calls else None
        advice = advice or address_advice(lines, redirected=agent.runtime.redirect, calls=made)
        advice = (
            advice or program_install.unseen_advice(lines) or program_install.project_advice(lines)
        )
        advice = advice or self._refused_port(lines)
        advice = advice or (
            "" if agent.runtime.workdir else program_install.read_only_advice(lines)
        )
        if advice:
            return silence.model_copy(update={"reason": f"{silence.reason} {advice}"})
        if around.outside and not silence.timed_out and agent.name not in self._hinted:
            self._hinted.add(agent.name)
            message = plain_hint(agent.name, len(around.given))
            self._context.on_event(
                CandidateWarned(agent=agent.name, side=agent.side, message=message)
            )
        return silence

    def tell(self) -> None:
        """Tell, once for each Agent and side, which files its runs without an answer missed."""
        for (name, side), found in sorted(self._missed.items()):
            said = missed_sentence(found.values())
            self._context.on_event(
                CandidateWarned(agent=name, side=side, message=said, lasting=True)
            )
        self._missed.clear()

    def _refused_port(self, lines: Sequence[str]) -> str:
        """Return which ports may be listened on, where not all may and something was refused."""
        if self._context.starter.listens_freely or not any(map(_REFUSED_PORT.search, lines)):
            return ""
        return (
            "If it meant to listen there: a model provider answers on this machine, so programs "
            "may listen on the port that they are given (`{port}`, PORT) and on those from which "
            "the system chooses (port 0), no other. policy.bindPorts of the gate config adds some."
        )

    def _passed_over(self, agent: AgentDefinition) -> str:
        """Return which program on PATH the candidate's user could not go to; empty if none."""
        from gateval.domain.setup.program_install import passed_over_sentence

        path = self._context.environ.get("PATH", "") if self._context.own_users else ""
        for _, name in asked_programs(agent.runtime):
            found = passed_over(name, path) if name and "/" not in name else None
            if found is not None:
                return passed_over_sentence(name, *found)
        return ""


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
        """Have this Agent answer. Prepares it first, once for all trials that ask for it. A runtime
        that raises is a fault of the gate, and costs this trial only.
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
        for model in (*agent.models, *agent.uses):
            if missing := self._context.nowhere(model):
                return NoAnswer(cause=Cause.CANDIDATE, reason=missing)
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
    if isinstance(error, NoPortLeft):
        return NoAnswer(cause=Cause.GATE, reason=f"The server {error.message}")
    said = f"{type(error).__name__}: {error}"
    reason = f"The runtime `{runtime}` of the gate failed ({said}); please report this as a bug."
    return NoAnswer(cause=Cause.GATE, reason=reason)
