"""On how many repetitions a written threshold is judged."""

from __future__ import annotations

from gateval.domain.plan.planned_eval import CONFIRMING, PlannedEval
from gateval.domain.results.grouping import Grouped
from gateval.domain.results.scoring import EvalScore, score_eval
from gateval.domain.trials.trial import Side


def threshold_repetitions(
    planned: PlannedEval, trials: Grouped, first: EvalScore | None = None
) -> int:
    """Return how many repetitions of head's fixtures decide about the threshold.

    Those that are planned; but a score that misses it by no more than chance may do is judged again
    on three of each fixture. That is done once, and never for a threshold of 1, nor where an agent
    does the same each time. `first` is head's score on the planned repetitions, where it is known.
    """
    reps = planned.execution.reps_per_fixture
    written = planned.threshold is not None and planned.threshold < 1
    if not written or planned.deterministic or reps >= CONFIRMING:
        return reps
    if first is None and _none_fails(planned, trials):
        return reps
    score = first or score_eval(planned, Side.HEAD, trials)
    return CONFIRMING if score.measured and score.close else reps


def _none_fails(planned: PlannedEval, trials: Grouped) -> bool:
    """Whether no trial of head can have lowered the score: cheaper than to work it out."""
    if planned.scoring.graded or planned.standing:
        return False
    heads = (trials.get((owner, name, Side.HEAD), ()) for name, owner in planned.owners().items())
    return not any(trial.passed is False for several in heads for trial in several)
