"""What the gate stands for, and with which exit status it says so."""

from __future__ import annotations

import pytest

from gateval.domain.decision.decision import Decision, exit_code, unverified, unwritten
from gateval.domain.forge.trigger import Trust
from gateval.domain.plan.plan import AgentChange, ChangeKind, Plan
from gateval.domain.plan.planned_eval import Lowered, Reason
from gateval.domain.problems import SourceLocation
from gateval.domain.tree import Revision
from gateval.domain.verdicts import EXIT_CODES, GateVerdict

NOTHING = Plan(head=Revision(name="x", commit="1" * 40, tree="2" * 40), nothing="Nothing.")
LEFT_ALONE = NOTHING.model_copy(
    update={
        "changes": (
            AgentChange(agent="a", kind=ChangeKind.MODIFIED, reasons=(Reason(where="a.yaml:1"),)),
        )
    }
)
LOWERED = NOTHING.model_copy(
    update={"lost": (Lowered(place=SourceLocation(file="evals/a.yaml"), what="Eval a is gone"),)}
)
CLAIMS = [Trust.FORK, Trust.DEPENDABOT, Trust.CLAIM]


@pytest.mark.parametrize("plan", [None, NOTHING, LEFT_ALONE, LOWERED])
def test_a_trusted_run_is_no_claim(plan: Plan | None) -> None:
    assert unverified(Trust.TRUSTED, plan, 7) == ""


@pytest.mark.parametrize("trust", CLAIMS)
@pytest.mark.parametrize("plan", [None, LEFT_ALONE, LOWERED])
def test_an_untrusted_one_is_and_says_who_gives_the_verdict(
    trust: Trust, plan: Plan | None
) -> None:
    why = unverified(trust, plan, 7)
    assert "(`workflow_dispatch`) for pull request 7" in why
    assert "maintainer" in why


@pytest.mark.parametrize("trust", CLAIMS)
def test_that_nothing_changed_is_read_from_git_and_no_claim(trust: Trust) -> None:
    assert unverified(trust, NOTHING, 7) == ""


@pytest.mark.parametrize(("number", "which"), [(7, "pull request 7"), (None, "the pull request")])
def test_a_fork_is_told_who_writes_its_check(number: int | None, which: str) -> None:
    why = unwritten(number)
    assert "a token that only reads, so the check gateval is not written" in why
    assert f"(`workflow_dispatch`) for {which}" in why


@pytest.mark.parametrize("verdict", list(GateVerdict))
def test_exit_status(verdict: GateVerdict) -> None:
    evals = GateVerdict.FAIL if verdict is GateVerdict.BYPASSED else verdict
    decision = Decision(verdict=verdict, evals=evals, exit_code=EXIT_CODES[verdict], head="1" * 40)
    assert exit_code(decision, claimed=False) == EXIT_CODES[verdict]
    assert exit_code(decision, claimed=True) == (1 if verdict is GateVerdict.FAIL else 3)
