"""Every verdict of evals with every ruling on every label."""

from __future__ import annotations

from itertools import product

import pytest

from gateval.domain.decision.decision import make_report, with_labels
from gateval.domain.forge.check_run import Conclusion, conclude
from gateval.domain.label_decision import (
    AuditPerson,
    GateLabel,
    LabelDecision,
    LabelDecisions,
    LabelStatus,
    LabelUse,
)
from gateval.domain.verdicts import EXIT_CODES, GateVerdict
from tests.helpers.reports import make_results

ROWS = {
    GateVerdict.PASS: "a-eval f base:pass head:pass",
    GateVerdict.FAIL: "a-eval f base:pass head:fail",
    GateVerdict.INCOMPLETE: "a-eval f base:pass head:-",
    GateVerdict.INCONCLUSIVE: "a-eval f base:pass head:provider",
}
STATES = (None, *LabelStatus)


def label_decision(label: GateLabel, status: LabelStatus) -> LabelDecision:
    use = LabelUse(name=label, by=AuditPerson(login="ada", role="admin"))
    return LabelDecision(label=label, status=status, use=use)


@pytest.mark.parametrize(
    ("evals", "bypass", "bar"), list(product(ROWS, STATES, STATES)), ids=lambda value: str(value)
)
def test_decision(evals: GateVerdict, bypass: LabelStatus | None, bar: LabelStatus | None) -> None:
    found = tuple(
        label_decision(label, status)
        for label, status in ((GateLabel.BYPASS, bypass), (GateLabel.ACCEPT_BAR, bar))
        if status
    )
    results = make_results(ROWS[evals])
    decision = make_report(results, LabelDecisions(found=found)).decision
    bypassed = bypass is LabelStatus.GRANTED and evals is not GateVerdict.PASS
    assert decision.evals is evals, "no label changes what the evals say"
    assert decision.verdict is (GateVerdict.BYPASSED if bypassed else evals)
    assert decision.exit_code == EXIT_CODES[decision.verdict]
    assert (decision.exit_code == 0) == (bypassed or evals is GateVerdict.PASS)
    assert decision.labels == found
    assert decision.reasons == make_report(results).decision.reasons
    assert (decision.bypass is not None) == bypassed
    assert with_labels(decision, LabelDecisions()).verdict is evals


def test_a_bypass_is_neutral_and_never_a_claims() -> None:
    assert conclude(GateVerdict.BYPASSED, unverified=False) is Conclusion.NEUTRAL
    assert conclude(GateVerdict.BYPASSED, unverified=True) is Conclusion.ACTION_REQUIRED
