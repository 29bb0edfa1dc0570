"""The gate's own sentences. They hold names as they came; the sink sanitises the whole sentence."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.comparison import EvalComparison
from gateval.domain.decision import Decision, GateVerdict, ReasonCode, show_score
from gateval.domain.plan import Baseline, Revision
from gateval.domain.scoring import EvalScore
from gateval.domain.trial import Cause, Side

MINUS = "\N{MINUS SIGN}"

ICONS = {
    GateVerdict.PASS: "\N{WHITE HEAVY CHECK MARK}",
    GateVerdict.FAIL: "\N{CROSS MARK}",
    GateVerdict.INCOMPLETE: "\N{WHITE QUESTION MARK ORNAMENT}",
    GateVerdict.INCONCLUSIVE: "\N{WHITE QUESTION MARK ORNAMENT}",
}

_BLOCKED = {
    ReasonCode.NO_ANSWER: "does not answer",
    ReasonCode.REGRESSION: "regressed",
    ReasonCode.BELOW_THRESHOLD: "below threshold",
    ReasonCode.MISSING_TRIALS: "not complete",
}

_NO_SCORE = {
    Baseline.NEW_AGENT: "new agent",
    Baseline.SAME_AGENT: "agent unchanged",
    Baseline.NONE: "not compared",
}


def count(number: int, noun: str) -> str:
    """Return `1 trial` or `2 trials`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listing(names: Sequence[str], most: int = 5) -> str:
    """Return the first `most` names and how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def revision(found: Revision) -> str:
    """Return how people call a revision."""
    return "the working tree, uncommitted changes included" if found.worktree else found.short


def eval_verdict(decision: Decision, name: str) -> tuple[GateVerdict, str]:
    """Return what one Eval adds to the decision, and in which words."""
    reasons = [reason for reason in decision.reasons if reason.eval == name]
    if not reasons:
        return GateVerdict.PASS, "pass"
    verdict = reasons[0].verdict
    if verdict is GateVerdict.PASS:
        return verdict, "pass, with warnings"
    words = [_BLOCKED.get(r.code, "not measured") for r in reasons if r.verdict is verdict]
    return verdict, ", ".join(dict.fromkeys(words))


def score(of: EvalScore) -> str:
    """Return a score, as an interval when it is not fully measured."""
    return show_score(of.low, of.high)


def base_score(compared: EvalComparison) -> str:
    """Return base's score, or why there is none."""
    if compared.base is None:
        return _NO_SCORE.get(compared.baseline, "not compared")
    return score(compared.base)


def delta(compared: EvalComparison) -> str:
    """Return head's score minus base's with its sign, or a dash when either is unknown."""
    if compared.delta is None:
        return "\N{EN DASH}"
    rounded = round(compared.delta, 2)
    if not rounded:
        return "0.00"
    return f"{'+' if rounded > 0 else MINUS}{abs(rounded):.2f}"


def fixtures_passed(of: EvalScore) -> str:
    """Return how many fixtures passed every repetition, of how many, and how many are unknown."""
    passed = sum(fixture.all_passed for fixture in of.fixtures)
    unknown = sum(not fixture.measured for fixture in of.fixtures)
    note = f" ({unknown} not measured)" if unknown else ""
    return f"{passed}/{len(of.fixtures)}{note}"


def next_step(cause: Cause | None, side: Side) -> str:
    """Return what to do about trials that were not measured."""
    if side is Side.BASE:
        return "This is base's fault, not the change's; without it these cannot be compared."
    return _NEXT_STEP[cause]


_NEXT_STEP = {
    Cause.CANDIDATE: "Run the command below in the agent's folder and see why it gives no answer.",
    Cause.PROVIDER: "This says nothing about the agent. Run the gate again once the provider "
    "answers; if it refused the key, renew the key.",
    Cause.JUDGE: "This says nothing about the agent. Run the gate again; if it stays so, make the "
    "rubric clearer or take another judge model.",
    Cause.GATE: "The trial needs something that is not there, as the reason says. Provide it, or "
    "change the assertion that asks for it.",
    None: "The run ended before they began. Run the gate again.",
}

GAP_TITLES = {
    Cause.CANDIDATE: "the candidate gave no answer",
    Cause.PROVIDER: "the model provider was down or refused the call",
    Cause.JUDGE: "the judge gave no usable verdict",
    Cause.GATE: "something that the trial needs was not there",
    None: "the trials never ran",
}
