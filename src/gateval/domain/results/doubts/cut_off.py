"""Answers that a model broke off at its token limit, or that were refused or filtered: they count,
and somebody is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.model_call import StopReason
from gateval.domain.trials.trace import StepKind
from gateval.domain.trials.trial import Trial

_NOTES = {
    StopReason.LENGTH: "stopped at its token limit.",
    StopReason.REFUSAL: "refused to answer, or was filtered by its provider.",
}
"""How the note on a call ends whose reply is not whole."""


def cut_off_note(model: str, stop: StopReason) -> str:
    """Return the note on a reply of `model` that is not whole; empty if it is."""
    return f"{model} {_NOTES[stop]}" if stop in _NOTES else ""


def cut_off_warnings(plan: Plan, trials: Iterable[Trial]) -> Iterator[str]:
    """Yield, for each Agent and side, in how many runs a model did not come to the end."""
    agents = {one.name: one.agent for one in plan.evals}
    every, cut = Counter[tuple[str, str]](), Counter[tuple[str, str, StopReason]]()
    for trial in trials:
        whose = (agents.get(trial.key.eval, trial.key.eval), str(trial.key.side))
        every[whose] += 1
        cut.update((*whose, why) for why in _cut_off(trial))
    for (agent, side, why), many in sorted(cut.items()):
        yield (
            f"{agent} ({side}): a model {_NOTES[why].removesuffix('.')} in {many} of "
            f"{every[agent, side]} runs. What it said until then counts as its answer."
        )


def _cut_off(trial: Trial) -> Iterator[StopReason]:
    steps = trial.trace.steps if trial.trace else ()
    notes = [one.text for one in steps if one.kind is StepKind.ERROR]
    return (why for why, end in _NOTES.items() if any(one.endswith(end) for one in notes))
