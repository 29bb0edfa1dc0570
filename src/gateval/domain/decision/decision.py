"""The gate's decision: a pure function of the comparison, the policy and the labels.

Precedence: fail > incomplete (planned trials missing) > inconclusive (a trial is `error` or
`skip`) > pass. An `error` is never a pass, and no policy lets a candidate's error pass. A bypass
that counts turns whatever is no pass into `bypassed`, and leaves every reason where it is.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from gateval.domain.base import Value
from gateval.domain.results.results import Results
from gateval.domain.ruling import NO_RULINGS, Ruling, Rulings
from gateval.domain.verdicts import (
    EXIT_CODES,
    PRECEDENCE,
    DecisionReason,
    EvalsVerdict,
    GateVerdict,
    ReasonCode,
)


class Decision(Value):
    """The decision with its ordered reasons, worst first.

    `evals` is what the evals say; `verdict` differs from it only when that was bypassed. `labels`
    is what became of each label of the gate's that was looked at.
    """

    version: Literal["decision.v1"] = "decision.v1"
    verdict: GateVerdict
    evals: EvalsVerdict
    exit_code: int
    head: str
    reasons: tuple[DecisionReason, ...] = ()
    labels: tuple[Ruling, ...] = ()

    @property
    def bypass(self) -> Ruling | None:
        """The label that let this revision through, or None."""
        granted = self.verdict is GateVerdict.BYPASSED
        return Rulings(found=self.labels).bypass if granted else None


def decide(
    results: Results, reasons: Collection[DecisionReason], rulings: Rulings = NO_RULINGS
) -> Decision:
    """Fold every reason into one verdict by precedence, then let the labels count."""
    codes = list(ReasonCode)
    ordered = tuple(
        sorted(reasons, key=lambda r: (PRECEDENCE.index(r.verdict), codes.index(r.code)))
    )
    verdict = ordered[0].verdict if ordered else GateVerdict.PASS
    decision = Decision(
        verdict=verdict,
        evals=verdict,
        exit_code=EXIT_CODES[verdict],
        head=results.plan.head.commit or results.plan.head.tree,
        reasons=ordered,
    )
    return with_labels(decision, rulings)


def with_labels(decision: Decision, rulings: Rulings) -> Decision:
    """Return what follows from a decision's evals once these labels count."""
    passed = decision.evals is GateVerdict.PASS
    verdict = GateVerdict.BYPASSED if rulings.bypass and not passed else decision.evals
    return decision.model_copy(
        update={
            "verdict": verdict,
            "exit_code": EXIT_CODES[verdict],
            "labels": rulings.found,
        }
    )
