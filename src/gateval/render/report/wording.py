"""The gate's own sentences. They hold names as they came; the sink sanitises the whole sentence.

What manifests of each kind and their cases are called, in the words of their documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from gateval.domain.base import known_of_last
from gateval.domain.manifests.gate_config import Policy, RegressionPolicy
from gateval.domain.text import listing, show_score, show_score_in_full
from gateval.domain.trials.trial import Assessment, Cause, NotAssessed, Side, Violation
from gateval.domain.verdicts import DecisionReason, GateVerdict, ReasonCode, score_of

if TYPE_CHECKING:
    from gateval.domain.decision.decision import Decision
    from gateval.domain.results.comparison import EvalComparison, FixtureComparison
    from gateval.domain.results.scoring import EvalScore

GLOSSARY = "https://github.com/gateval/gateval/blob/main/docs/glossary.md"
"""The page that explains every word of a verdict, a comparison and a reason."""

MINUS = "\N{MINUS SIGN}"

ICONS = {
    GateVerdict.PASS: "\N{WHITE HEAVY CHECK MARK}",
    GateVerdict.FAIL: "\N{CROSS MARK}",
    GateVerdict.INCOMPLETE: "\N{BLACK QUESTION MARK ORNAMENT}",
    GateVerdict.INCONCLUSIVE: "\N{BLACK QUESTION MARK ORNAMENT}",
    GateVerdict.BYPASSED: "\N{LARGE YELLOW CIRCLE}",
}

UNVERIFIED_ICON = "\N{WHITE QUESTION MARK ORNAMENT}"
"""Stands beside a claim, whatever it claims."""

_BLOCKED = {
    ReasonCode.NO_ANSWER: "does not answer",
    ReasonCode.REGRESSION: "regressed",
    ReasonCode.BELOW_THRESHOLD: "below threshold",
    ReasonCode.NEW_FIXTURE: "new fixture fails",
    ReasonCode.LOWERED_BAR: "bar not met",
    ReasonCode.UNANSWERED: "does not answer",
    ReasonCode.DEAD_BASELINE: "nothing passes, on base neither",
    ReasonCode.COST: "costs more",
    ReasonCode.LATENCY: "takes longer",
    ReasonCode.MISSING_TRIALS: "not complete",
    ReasonCode.UNCALIBRATED_JUDGE: "judge not calibrated",
    ReasonCode.NO_PREFERENCE: "answers not compared",
    ReasonCode.STAND_IN: "answered by a stand-in",
    ReasonCode.NO_MODEL_CALLS: "answers without a model",
    ReasonCode.BUDGET: "budget used up",
    ReasonCode.ALLOWANCE: "budget used up",
}


def eval_verdict(decision: Decision, name: str) -> tuple[GateVerdict, str]:
    """Return what one Eval adds to the decision, and in which words."""
    return _verdicts(decision).get(name, (GateVerdict.PASS, "pass"))


@known_of_last
def _verdicts(decision: Decision) -> Mapping[str, tuple[GateVerdict, str]]:
    """Return that of each Eval with a reason: there may be one for each of its fixtures."""
    reasons: dict[str, list[DecisionReason]] = {}
    for reason in decision.reasons:
        reasons.setdefault(reason.eval, []).append(reason)
    return {name: _verdict(own) for name, own in reasons.items()}


def _verdict(reasons: Sequence[DecisionReason]) -> tuple[GateVerdict, str]:
    from gateval.domain.decision.reasons import ACCEPTED  # who only counts words does without

    verdict = reasons[0].verdict
    if verdict is GateVerdict.PASS:
        met = next((one for one in reasons if one.code is ReasonCode.LOWERED_BAR), None)
        if met is not None:
            return verdict, f"below, accepted by {met.text.rpartition(ACCEPTED)[2]}"
        return verdict, "pass, with warnings"
    words = [_BLOCKED.get(r.code, "not measured") for r in reasons if r.verdict is verdict]
    return verdict, ", ".join(dict.fromkeys(words))


def score(of: EvalScore) -> str:
    """Return a score, as an interval of so many runs when it is not fully measured.

    What it is called stands behind it, if that is the same at both ends.
    """
    shown = show_score_in_full(of.score, of.threshold)
    called = {of.model.called(one) for one in of.ends or ()}
    return f"{shown} {called.pop()}".rstrip() if len(called) == 1 else shown


def base_score(compared: EvalComparison) -> str:
    """Return base's score, or why there is none."""
    if compared.base is not None:
        return score(compared.base)
    from gateval.domain.plan.planned_eval import Baseline

    why = {Baseline.NEW_AGENT: "new agent", Baseline.SAME_AGENT: "agent unchanged"}
    return why.get(compared.baseline, "not compared")


def chance(of: EvalScore) -> str:
    """Return where chance alone may have moved the score from; empty for an unknown one."""
    interval = of.interval
    return f"{interval[0]:.2f}\N{EN DASH}{interval[1]:.2f}" if interval else ""


def delta(compared: EvalComparison) -> str:
    """Return head's score minus base's with its sign, or a dash when either is unknown."""
    if compared.delta is None:
        return "\N{EN DASH}"
    rounded = round(compared.delta, 2)
    if not rounded:
        return "0.00"
    return f"{'+' if rounded > 0 else MINUS}{abs(rounded):.2f}"


def passes(compared: FixtureComparison) -> str:
    """Return how many repetitions passed before and now, all that were made."""
    from gateval.domain.decision.measured_reasons import passes_before_and_now, show_passes

    if compared.base_all is None:
        silent = compared.head_all.silent
        note = f" (no answer in {silent} of {compared.head_all.trials})" if silent else ""
        return show_passes(compared.head_all) + note
    return passes_before_and_now(compared)


def own_score(compared: FixtureComparison) -> str:
    """Return the fixture's own score on both sides; empty if no trial has one."""
    head = compared.head.own
    base = compared.base.own if compared.base else None
    if head is None:
        return ""
    before = "" if base is None else f" (base {show_score(score_of(*base))})"
    return f"score {show_score(score_of(*head))}{before}"


def what_happened(assessment: Assessment, *, graded: bool = False) -> str:
    """Return how an assessment ended and at which steps, e.g. `failed at step 4`.

    Where trials have scores (`graded`), nothing fails by itself: it `scored 0.70`.
    """
    if isinstance(assessment, NotAssessed):
        return "could not be evaluated"
    if assessment.passed:
        return str(assessment.status)
    if not assessment.steps:
        return _ended(assessment, graded)
    noun = "step" if len(assessment.steps) == 1 else "steps"
    return f"{_ended(assessment, graded)} at {noun} {listing(list(map(str, assessment.steps)))}"


def _ended(assessment: Assessment, graded: bool) -> str:  # noqa: FBT001
    if not graded or assessment.score is None:
        return "failed"
    return f"scored {show_score(score_of(assessment.score, assessment.score))}"


def fixtures_passed(of: EvalScore) -> str:
    """Return how many fixtures passed every repetition, of how many, and how many are unknown."""
    passed = sum(fixture.all_passed for fixture in of.fixtures)
    unknown = sum(of.ends is None or not fixture.measured for fixture in of.fixtures)
    notes = [f"{unknown} not measured"] if unknown else []
    notes += [f"{len(of.left_out)} left out"] if of.left_out else []
    note = f" ({', '.join(notes)})" if notes else ""
    return f"{passed}/{len(of.fixtures) + len(of.left_out)}{note}"


def next_step(cause: Cause | None, side: Side) -> str:
    """Return what to do about trials that were not measured."""
    if side is Side.BASE and cause is Cause.CANDIDATE:
        return "Base itself gives no answer here, so these fixtures cannot be compared."
    return _NEXT_STEP[cause]


_NEXT_STEP = {
    Cause.CANDIDATE: "Find out why it gives no answer; an agent that does not answer never passes.",
    Cause.PROVIDER: "This says nothing about the agent. Run the gate again once the provider "
    "answers; if it refused the key, renew the key; if it refused what was asked, ask for what it "
    "has.",
    Cause.JUDGE: "This says nothing about the agent. Run the gate again: once its provider "
    "answers, if the judge could not be asked; else, if it stays so, make the rubric clearer or "
    "take another judge model.",
    Cause.UNCALIBRATED: "The judge has to agree with people first: `gateval calibrate` shows where "
    "it does not. An assertion beside the judge's would decide meanwhile.",
    Cause.CHECK: "This says nothing about the agent. Mend the check that the reason names.",
    Cause.GATE: "The trial needs something that is not there, as the reason says. Provide it, or "
    "change the assertion that asks for it.",
    None: "Run the gate again, with more time or money where it ended for want of these.",
}

GAP_TITLES = {
    Cause.CANDIDATE: "the agent gave no answer",
    Cause.PROVIDER: "the model provider was down or refused the call",
    Cause.JUDGE: "the judge gave no usable verdict",
    Cause.UNCALIBRATED: "only a judge that is not calibrated says something here",
    Cause.CHECK: "an own check gave no usable answer",
    Cause.GATE: "something that the run needs was not there",
    None: "planned, but never ran",
}


def evidence_mark(violation: Violation) -> str:
    """Return whether code found the quote where the judge says it stands."""
    if violation.absent:
        found = "Named by the rubric and absent from the run"
        return found if violation.supported else "Not proven to be absent; does not count"
    if violation.supported:
        spoken = ", in words to a judge" if violation.addressed else ""
        return f"Quote found in step {violation.evidence_step}{spoken}"
    return f"Quote not found in step {violation.evidence_step}; does not count"


def evidence_icon(violation: Violation) -> str:
    """Return the sign that goes with `evidence_mark`."""
    return "\N{CHECK MARK}" if violation.supported else "\N{BALLOT X}"


def regressed_title(policy: Policy) -> str:
    """Return the heading over regressions, which says so when they do not block."""
    if policy.regressions is RegressionPolicy.BLOCK:
        return "Regressed"
    return "Regressed, which the policy lets pass"


class KindLabels(NamedTuple):
    """What a manifest of a kind is called, one of its cases, and what of one falls."""

    manifest: str
    case: str
    falls: str

    @property
    def cases(self) -> str:
        """The cases, as a heading."""
        return f"{self.case.capitalize()}s"


_WORDS: Final[Mapping[str, KindLabels]] = {
    "Eval": KindLabels("Eval", "fixture", "pass rate"),
    "Benchmark": KindLabels("Benchmark", "task", "score"),
    "Experiment": KindLabels("Experiment", "row", "score"),
}


def words_of(kinds: Iterable[str]) -> KindLabels:
    """Return the words for these kinds together: their own if they are one, else those of Evals."""
    found = set(kinds)
    return _WORDS.get(found.pop() if len(found) == 1 else "", _WORDS["Eval"])


def count(number: int, noun: str) -> str:
    """Return `1 trial` or `2 trials`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
