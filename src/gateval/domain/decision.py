"""The gate's decision: a pure function of the comparison and the policy.

Precedence: fail > incomplete (planned trials missing) > inconclusive (a trial is `error` or
`skip`) > pass. An `error` is never a pass, and no policy lets a candidate's error pass.
"""

from __future__ import annotations

from gateval.domain.comparison import Comparison
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.reasons import all_reasons, may_pass_judge_errors, show_passes, show_score
from gateval.domain.results import Results
from gateval.domain.verdicts import (
    EXIT_CODES,
    PRECEDENCE,
    Decision,
    DecisionReason,
    GateVerdict,
    ReasonCode,
)

__all__ = [
    "EXIT_CODES",
    "PRECEDENCE",
    "Decision",
    "DecisionReason",
    "GateVerdict",
    "ReasonCode",
    "decide",
    "may_pass_judge_errors",
    "show_passes",
    "show_score",
]


def decide(results: Results, comparison: Comparison, policy: Policy) -> Decision:
    """Fold every reason into one verdict by precedence."""
    reasons = tuple(all_reasons(results, comparison, policy))
    codes = list(ReasonCode)
    ordered = tuple(
        sorted(reasons, key=lambda r: (PRECEDENCE.index(r.verdict), codes.index(r.code)))
    )
    verdict = ordered[0].verdict if ordered else GateVerdict.PASS
    return Decision(
        verdict=verdict,
        exit_code=EXIT_CODES[verdict],
        head=results.plan.head.commit or results.plan.head.tree,
        reasons=ordered,
    )
