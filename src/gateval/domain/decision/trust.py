"""Whether the gate may stand for what it reports, and the exit status that follows. Pure."""

from __future__ import annotations

from gateval.domain.decision.decision import Decision
from gateval.domain.forge.trigger import Trust
from gateval.domain.plan.plan import Plan
from gateval.domain.verdicts import GateVerdict
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED

UNVERIFIED_GATE = "unverified"
"""The gate under which claims appear: its check run is `gateval (unverified)`. So no claim, forged
or not, ever touches the check run `gateval`, which branch protection asks for."""

_WHY = {
    Trust.FORK: "The pull request comes from another repository, so this run had no keys.",
    Trust.DEPENDABOT: "Dependabot started this run, so it had no keys.",
    Trust.CLAIM: "A run without keys measured this, and anybody could have written its results.",
}


def unverified(trust: Trust, plan: Plan | None, number: int | None) -> str:
    """Return why the report is only a claim and who gives the verdict; empty if it is none.

    That nothing an eval depends on has changed is no claim: it is read from git by this very run.
    A plan is None when there is none yet.
    """
    if trust.verified or (plan and plan.nothing and not _touches(plan)):
        return ""
    which = f"pull request {number}" if number else "the pull request"
    return (
        f"{_WHY[trust]} A maintainer who has read the change starts the workflow with "
        f"`workflow_dispatch` for {which}; that run gives the verdict."
    )


def _touches(plan: Plan) -> bool:
    """Whether the change touches an Agent, or takes something away that was asked of one."""
    return bool(plan.changes or plan.removed or plan.lost or plan.doubts)


def exit_code(decision: Decision, *, claimed: bool) -> int:
    """Return the exit status of a run: 0 only for a pass that the gate stands for.

    A claimed failure is a failure; a claimed pass was not evaluated by anyone we trust.
    """
    if not claimed:
        return decision.exit_code
    return EXIT_FAILED if decision.verdict is GateVerdict.FAIL else EXIT_NOT_EVALUATED
