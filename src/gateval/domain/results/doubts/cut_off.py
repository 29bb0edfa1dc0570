"""Answers that a model broke off at its token limit: they count, and somebody is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trace import StepKind
from gateval.domain.trials.trial import Trial

CUT_OFF = "stopped at its token limit."
"""How the note on a call ends whose reply was cut off."""


def cut_off_warnings(plan: Plan, trials: Iterable[Trial]) -> Iterator[str]:
    """Yield, for each Agent and side, in how many runs a model did not come to the end."""
    agents = {one.name: one.agent for one in plan.evals}
    every, cut = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for trial in trials:
        whose = (agents.get(trial.key.eval, trial.key.eval), str(trial.key.side))
        every[whose] += 1
        cut[whose] += _is_cut_off(trial)
    for (agent, side), many in sorted(cut.items()):
        if many:
            yield (
                f"{agent} ({side}): a model {CUT_OFF.removesuffix('.')} in {many} of "
                f"{every[agent, side]} runs. What it said until then counts as its answer."
            )


def _is_cut_off(trial: Trial) -> bool:
    steps = trial.trace.steps if trial.trace else ()
    return any(one.kind is StepKind.ERROR and one.text.endswith(CUT_OFF) for one in steps)
