"""The status of a unit with scores when its trials are over."""

from __future__ import annotations

from gateval.domain.statistics.design import LookResult
from gateval.domain.statistics.graded.grid import Scores
from gateval.domain.statistics.graded.permutation import permutation
from gateval.domain.statistics.graded.rule import ESCALATION, LEAST_DROP, GradedRule, GradedWalk
from gateval.domain.statistics.status import CLEAR, RegressionStatus


def graded_status(
    rule: GradedRule, walk: GradedWalk, base: Scores, head: Scores
) -> RegressionStatus:
    """Return the status of a walk that ended, from the scores that led there.

    The first that applies: regressed; suspect and not confirmed, where the p-value is at most .05
    and .20 and the drop matters; improved, where the mirrored one is at most .05 and the rise
    matters; else unchanged. Raises ValueError if the rule still wants trials.
    """
    if not walk.ended:
        raise ValueError("This unit still wants trials: it has no status yet.")
    if walk.step is LookResult.REGRESSED:
        return RegressionStatus.REGRESSED
    ours = [score for score in head[: walk.look.head] if score is not None]
    theirs = [score for score in base[: walk.look.base] if score is not None]
    if rule.worse(walk.base.mean, walk.head.mean):
        p_value = permutation(theirs, ours)
        if p_value <= CLEAR:
            return RegressionStatus.SUSPECT
        if p_value <= ESCALATION:
            return RegressionStatus.NOT_CONFIRMED
    risen = walk.head.mean - walk.base.mean >= LEAST_DROP
    return (
        RegressionStatus.IMPROVED
        if risen and permutation(ours, theirs) <= CLEAR
        else RegressionStatus.UNCHANGED
    )
