"""A record of a head that used up its budget keeps it incomplete, under the same policy only."""

from __future__ import annotations

import pytest

from gateval.domain.history.standing import BUDGET_SPENT, with_spent_budget
from gateval.domain.history.verdicts import HistoryRecord, StoredReason
from gateval.domain.verdicts import GateVerdict, ReasonCode
from tests.helpers.reports import make_results

HEAD, POLICY = "1" * 40, "a" * 64


@pytest.mark.parametrize(
    ("changed", "spent"),
    [
        ({}, True),
        ({"head": "2" * 40}, False),
        ({"policy": "b" * 64}, False),
        ({"code": ReasonCode.MISSING_TRIALS}, False),
    ],
)
def test_only_the_same_head_and_policy(changed: dict[str, str], spent: bool) -> None:
    plan = make_results("a-eval f1 base:pass head:pass", threshold=None).plan
    head = plan.head.model_copy(update={"commit": HEAD})
    plan = plan.model_copy(update={"head": head, "policy_digest": POLICY})
    code = ReasonCode(changed.get("code", ReasonCode.BUDGET))
    record = HistoryRecord(
        head=changed.get("head", HEAD),
        policy=changed.get("policy", POLICY),
        plan="c" * 64,
        recorded_at="2026-01-01T00:00:00Z",
        verdict=GateVerdict.INCOMPLETE,
        reasons=(StoredReason(verdict=GateVerdict.INCOMPLETE, code=code, text="It ended."),),
    )
    assert with_spent_budget(plan, [record]).budget_spent == (BUDGET_SPENT if spent else "")
