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
    return f"{_WHY[trust]} {_who_does(number)}; that run gives the verdict."


def unwritten(number: int | None) -> str:
    """Return why a run for a fork leaves nothing on GitHub, and who gives the check."""
    return (
        "GitHub gives a run for a fork a token that only reads, so the check gateval is not "
        f"written, nor a comment; the job's summary holds the result. {_who_does(number)}: see "
        "docs/guides/forks.md."
    )


def _who_does(number: int | None) -> str:
    which = f"pull request {number}" if number else "the pull request"
    return (
        "A maintainer who has read the change starts the maintainers' workflow "
        f"(`workflow_dispatch`) for {which}"
    )


def _touches(plan: Plan) -> bool:
    """Whether the change touches an Agent, or takes something away that was asked of one."""
    return bool(plan.changes or plan.removed or plan.binds)


def exit_code(decision: Decision, *, claimed: bool) -> int:
    """Return the exit status of a run: 0 only for a pass that the gate stands for.

    A claimed failure is a failure; a claimed pass was not evaluated by anyone we trust.
    """
    if not claimed:
        return decision.exit_code
    return EXIT_FAILED if decision.verdict is GateVerdict.FAIL else EXIT_NOT_EVALUATED
