"""Reasons why an Eval says nothing as a whole: nobody answers it, or nothing of it ever passes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.manifests.policy.words import DeadBaselinePolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.comparison import EvalComparison
from gateval.domain.results.grouping import Grouped
from gateval.domain.trials.trial import Outcome, Side
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode, reason_of


def unanswered_reasons(
    plan: Plan, planned: PlannedEval, compared: EvalComparison, trials: Grouped
) -> Iterator[DecisionReason]:
    """Yield why an Eval that no side answers was not measured, with the cause.

    It is no pass and no failure, but where the Eval asks head for a score and there is no base. A
    change that first brings the gate config is told and not blocked.
    """
    names = [one.name for one in planned.fixtures]
    text = _silence(planned, compared, trials) if compared.unanswered else ""
    if not text or all(map(planned.in_quarantine, names)):
        return
    told = plan.adds_config if compared.base is not None else plan.adds_gate
    verdict = GateVerdict.INCONCLUSIVE
    if told:
        verdict = GateVerdict.PASS
        text += "; this change first brings the gate config, so it is told and not blocked"
    elif compared.base is None and (compared.head.threshold or 0) > 0:
        verdict = GateVerdict.FAIL
    yield reason_of(verdict, ReasonCode.UNANSWERED, text, compared.eval)


def dead_reasons(
    planned: PlannedEval, compared: EvalComparison, policy: Policy
) -> Iterator[DecisionReason]:
    """Yield that an Eval with answers cannot see a regression, as nothing passes on either side."""
    if not compared.dead:
        return
    blocks = policy.dead_baseline is DeadBaselinePolicy.BLOCK
    verdict = GateVerdict.INCONCLUSIVE if blocks else GateVerdict.PASS
    text = (
        f"{planned.shown_name}: nothing passes, and nothing passes on base either; this "
        f"{planned.kind} cannot see a regression"
    )
    yield reason_of(verdict, ReasonCode.DEAD_BASELINE, text, compared.eval)


def _silence(planned: PlannedEval, compared: EvalComparison, trials: Grouped) -> str:
    """Say which Agent did not answer and why, in one sentence without its full stop.

    Empty where head's trials were lost: then these say why.
    """
    causes = {side: why_silent(planned, side, trials) for side in planned.sides}
    head = causes[Side.HEAD]
    if not head:
        return ""
    verb = "did not start" if never_began(head) else "gave no answer"
    if compared.base is None:
        return f"{planned.agent} {verb}: {head}"
    other = causes[Side.BASE]
    beside = f"; on base: {other}" if other not in {head, ""} else ""
    return f"{planned.agent} {verb}, on base neither: {head}{beside}"


def why_silent(planned: PlannedEval, side: Side, trials: Grouped) -> str:
    """Return why most trials of a side have no answer, as the end of a sentence."""
    found = Counter(
        _in_short(trial.reason)
        for name, owner in planned.owners().items()
        for trial in trials.get((owner, name, side), ())
        if not trial.answered and trial.outcome is not Outcome.PASS
    )
    return found.most_common(1)[0][0] if found else ""


_MISSING = re.compile(r"[Tt]he (?:module|package|command) \S+ is not installed")
_START = re.compile(r"is not installed|set-up|start|ready|could not be run|cannot be found")
"""How reasons say that a candidate never came so far as to be asked."""


def never_began(why: str) -> bool:
    """Whether a reason says that a candidate never came so far as to be asked."""
    return _START.search(why) is not None


def _in_short(reason: str) -> str:
    """Return what a reason says: what is missing, else its first sentence."""
    found = _MISSING.search(reason)
    first = found[0] if found else re.split(r"(?<=\.)\s", reason, maxsplit=1)[0]
    return (first[:1].lower() + first[1:]).removesuffix(".")
