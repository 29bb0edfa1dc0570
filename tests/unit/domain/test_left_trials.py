"""What a check run confirms of trials, and which run is gone on from."""

from __future__ import annotations

import pytest

from gateval.domain.forge.check_run import CheckRun, RunFindings, Stamp
from gateval.domain.forge.left_trials import (
    MOST_UPLOADS,
    LeftTrials,
    TrialUpload,
    cut_short,
    plan_digest,
)
from tests.helpers.reports import make

PLAN = "1" * 64
NOW = Stamp(started="2026-11-20T10:00:00Z", run=7, attempt=2)


def left(plan: str = PLAN, uploads: int = 1) -> LeftTrials:
    given = tuple(TrialUpload(number=n + 1, sha256=f"{n:064x}") for n in range(uploads))
    return LeftTrials(plan=plan, run=7, name="gateval-trials-evals-1", uploads=given)


def check(text: str, run: int = 7, attempt: int = 1, *, completed: bool = True) -> CheckRun:
    stamp = Stamp(started="2026-11-20T09:00:00Z", run=run, attempt=attempt)
    return CheckRun(
        number=1,
        name="gateval",
        head_sha="a" * 40,
        external_id=str(stamp),
        completed=completed,
        text=text,
    )


@pytest.mark.parametrize("uploads", [0, 1, MOST_UPLOADS])
def test_it_stands_beside_findings_and_both_read_back(uploads: int) -> None:
    told, findings = left(uploads=uploads), RunFindings(total=3)
    text = f"{findings}\n{told}"
    assert LeftTrials.parse(text) == told
    assert RunFindings.parse(text) == findings
    assert RunFindings.parse(str(told)) is None
    assert len(text) < 8_000, "beside 56 kB of findings, in 64 KiB"


@pytest.mark.parametrize(
    "text", ["", "gateval:trials", str(left())[:-4], f" {left()}", str(left()).replace(":0", ":x")]
)
def test_anything_else_is_no_such_line(text: str) -> None:
    assert LeftTrials.parse(text) is None


@pytest.mark.parametrize(
    ("checks", "number"),
    [
        ([], None),
        ([check(str(left()))], 1),
        ([check(str(left()), completed=False)], 1),
        ([check(str(left()), run=8)], 1),
        ([check(str(left()), run=8, completed=False)], None),  # perhaps it lives
        ([check("<!-- a verdict -->"), check(str(left()))], None),  # decided since
        ([check(str(left("2" * 64))), check(str(left()))], None),  # of another plan
        ([check(str(left()), attempt=2), check(str(left()))], 1),  # the first is this run's own
    ],
)
def test_the_newest_run_of_the_same_plan_is_gone_on_from_if_it_gave_no_verdict(
    checks: list[CheckRun], number: int | None
) -> None:
    found = cut_short(checks, PLAN, NOW)
    assert (found and found.stamp.attempt) == number


def test_the_plan_is_another_one_by_head_base_policy_and_code() -> None:
    plan = make("support-eval greets base:pass head:pass").results.plan
    head = plan.head.replace(commit="5" * 40)
    policy = plan.policy.replace(gateway=plan.policy.gateway.replace(calls_per_run=7))
    others = [plan.replace(head=head), plan.replace(policy=policy), plan.replace(engine="0" * 64)]
    assert len({plan_digest(one) for one in (plan, *others)}) == 4
