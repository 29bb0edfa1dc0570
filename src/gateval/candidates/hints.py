"""Adds to a candidate's failure what it may have missed: a file that is not its own, a set-up."""

from __future__ import annotations

from gateval.candidates.base import RuntimeContext
from gateval.candidates.isolation.visible_paths import passed_over
from gateval.domain.plan.absent import (
    AbsentFile,
    absent_files,
    absent_sentence,
    is_explained,
    missed_sentence,
    plain_hint,
)
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.planning.files.interpreters import asked_programs
from gateval.domain.setup.programs.advice import (
    passed_over_sentence,
    project_advice,
    read_only_advice,
    set_up_advice,
    unseen_advice,
)
from gateval.domain.trials.trial import Cause, NoAnswer, Side
from gateval.errors import RepositoryError
from gateval.events import CandidateWarned
from gateval.ports.model_calls import REFUSED

_KEPT = 1_000
"""Missed files that are kept for one Agent on one side."""


class Hints:
    """Names the file in the reason where the output fits one; else tells the plain hint, once.

    In the end all files that were missed are told in one warning for each Agent and side.
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
        try:
            around = self._context.exports.around(agent)
        except RepositoryError:
            return silence
        lines = (silence.reason, *silence.detail[1:])
        absent, advice = tuple(absent_files(lines, agent.cwd, around)), ""
        if absent:
            self._note(agent, absent)
            advice = absent_sentence(agent.name, absent[0])
        else:
            missing = set_up_advice(lines, agent.cwd, around.given | around.outside)
            advice = self._passed_over(agent) if missing else ""
            advice = advice or ("" if agent.runtime.setup else missing)
        advice = advice or unseen_advice(lines) or project_advice(lines) or read_only_advice(lines)
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

    def _note(self, agent: AgentDefinition, absent: tuple[AbsentFile, ...]) -> None:
        missed = self._missed.setdefault((agent.name, agent.side), {})
        for one in absent:
            if len(missed) < _KEPT:
                missed.setdefault(one.path, one)

    def _passed_over(self, agent: AgentDefinition) -> str:
        """Return which program on PATH the candidate's user could not go to; empty if none."""
        path = self._context.environ.get("PATH", "") if self._context.own_users else ""
        for _, name in asked_programs(agent.runtime):
            found = passed_over(name, path) if name and "/" not in name else None
            if found is not None:
                return passed_over_sentence(name, *found)
        return ""
