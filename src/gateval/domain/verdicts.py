"""Verdicts, and scores: measured, measured in part, or not measured."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import AfterValidator

from gateval.domain.base import Value
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS


class GateVerdict(StrEnum):
    """The gate's verdict."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    INCONCLUSIVE = "inconclusive"
    BYPASSED = "bypassed"
    """Not a pass, but somebody who may has let this revision through. Never a verdict of evals."""


PRECEDENCE = (
    GateVerdict.FAIL,
    GateVerdict.INCOMPLETE,
    GateVerdict.INCONCLUSIVE,
    GateVerdict.PASS,
)
"""What evals can say, what counts most first."""


def _of_evals(verdict: GateVerdict) -> GateVerdict:
    if verdict not in PRECEDENCE:
        raise ValueError(f"evals never say {verdict}; only a label that counts does")
    return verdict


EvalsVerdict = Annotated[GateVerdict, AfterValidator(_of_evals)]
"""What evals say. A bypass is decided anew each time: read from a file, it would need no label."""

EXIT_CODES = {
    GateVerdict.PASS: EXIT_PASS,
    GateVerdict.FAIL: EXIT_FAILED,
    GateVerdict.INCOMPLETE: EXIT_NOT_EVALUATED,
    GateVerdict.INCONCLUSIVE: EXIT_NOT_EVALUATED,
    GateVerdict.BYPASSED: EXIT_PASS,
}


class ReasonCode(StrEnum):
    """The subject of a reason of the decision, worst first."""

    NO_ANSWER = "no-answer"
    REGRESSION = "regression"
    BELOW_THRESHOLD = "below-threshold"
    NEW_FIXTURE = "new-fixture"
    LOWERED_BAR = "lowered-bar"
    UNANSWERED = "unanswered"
    DEAD_BASELINE = "dead-baseline"
    COST = "cost"
    LATENCY = "latency"
    RULES_UNREADABLE = "rules-unreadable"
    FINDINGS_LOST = "findings-lost"
    SEALED = "sealed"
    SUITE_UNREADABLE = "suite-unreadable"
    BAR_UNREADABLE = "bar-unreadable"
    UNCLAIMED_FILE = "unclaimed-file"
    LACKING_CONTENT = "lacking-content"
    MISSING_TRIALS = "missing-trials"
    LEFT_OUT = "left-out"
    CANDIDATE_ERROR = "candidate-error"
    PROVIDER_ERROR = "provider-error"
    JUDGE_ERROR = "judge-error"
    CHECK_ERROR = "check-error"
    GATE_ERROR = "gate-error"
    BASELINE_ERROR = "baseline-error"
    UNCALIBRATED_JUDGE = "uncalibrated-judge"
    STAND_IN = "stand-in"
    NO_MODEL_CALLS = "no-model-calls"
    BUDGET = "budget"
    BAR_UNMEASURED = "bar-unmeasured"
    FRESH = "fresh"
    SUSPECT = "suspect"
    FAILS_AS_BEFORE = "fails-as-before"
    NOTHING_TO_EVALUATE = "nothing-to-evaluate"


class DecisionReason(Value):
    """One reason: the verdict it asks for, and why. `pass` marks a warning that blocks nothing."""

    verdict: EvalsVerdict
    code: ReasonCode
    text: str
    eval: str = ""
    fixture: str = ""


def reason_of(
    verdict: GateVerdict, code: ReasonCode, text: str, evaluation: str = "", fixture: str = ""
) -> DecisionReason:
    """Return a reason; `evaluation` and `fixture` name what it is about, if it is about one."""
    return DecisionReason(verdict=verdict, code=code, text=text, eval=evaluation, fixture=fixture)


class Measured(NamedTuple):
    """A score in [0, 1] of which every part was measured."""

    value: float


class Partly(NamedTuple):
    """Where a score in [0, 1] lies, however what is missing would have ended: `measured` of `of`
    trials say something.
    """

    low: float
    high: float
    measured: int = 0
    of: int = 0


class NotMeasured(NamedTuple):
    """Nothing was measured: there is no score, not even an interval."""


Score: TypeAlias = Measured | Partly | NotMeasured


def score_of(low: float | None, high: float | None, measured: int = 0, of: int = 0) -> Score:
    """Return the score between these ends, which are None where nothing was measured."""
    if low is None or high is None:
        return NotMeasured()
    return Measured(low) if low == high and measured == of else Partly(low, high, measured, of)


def ends(score: Score) -> tuple[float, float] | None:
    """Return the least and the highest that a score can be; None where nothing was measured."""
    match score:
        case Measured(value):
            return value, value
        case Partly(low, high):
            return low, high
        case NotMeasured():
            return None
