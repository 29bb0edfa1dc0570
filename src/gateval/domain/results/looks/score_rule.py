"""The rule by which the scores of an Eval's fixtures are looked at."""

from __future__ import annotations

from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.looks.silence import SILENCE_SHARE
from gateval.domain.statistics.graded.rule import GradedRule, graded_rule, watched_only


def graded_rule_of(planned: PlannedEval) -> GradedRule:
    """Return the rule of the scores of an Eval's fixtures.

    A part of the share is left for their silence, which may be another thing than their scores.
    """
    if not planned.fixture_share:
        return watched_only(planned.first_look)
    share = planned.fixture_share * (1 - SILENCE_SHARE)
    return graded_rule(planned.looks, share, planned.scoring.pass_score)
