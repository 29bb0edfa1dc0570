"""How much is read of results that other jobs wrote: as much as the plan made here can take."""

from __future__ import annotations

from gateval.app.run.shards import CLAIM_LIMIT, MOST_BYTES, claim_limit
from tests.helpers.reports import make_results

MEASURED = 10_400
"""Bytes of a trial with eight thousand characters of traces and answers, and its fixture."""


def test_what_is_read_grows_with_what_is_planned_and_has_an_end() -> None:
    plan = make_results("a-eval f1 base:pass head:pass", threshold=None).plan
    assert claim_limit(plan) < CLAIM_LIMIT + 2**20, "a small plan needs little"
    (planned,) = plan.evals
    execution = planned.execution.model_copy(update={"reps_per_fixture": 15_000})
    large = plan.model_copy(
        update={"evals": (planned.model_copy(update={"execution": execution}),)}
    )
    assert large.trial_count == 30_000
    assert 30_000 * MEASURED * 3 < claim_limit(large) <= MOST_BYTES
