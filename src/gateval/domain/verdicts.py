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
    """Head does not answer where base does."""
    REGRESSION = "regression"
    """Head fell against base."""
    BELOW_THRESHOLD = "below-threshold"
    """A score is under its threshold."""
    NEW_FIXTURE = "new-fixture"
    """A fixture that the change adds fails."""
    LOWERED_BAR = "lowered-bar"
    """The change asks less than the target branch."""
    UNANSWERED = "unanswered"
    """No side answered an Eval at all; the text names the cause."""
    DEAD_BASELINE = "dead-baseline"
    """Nothing passes on either side, so a regression could not be seen."""
    COST = "cost"
    """Money rose over the limit."""
    LATENCY = "latency"
    """Time rose over the limit."""
    RULES_UNREADABLE = "rules-unreadable"
    """The gate config of the target branch cannot be read."""
    FINDINGS_LOST = "findings-lost"
    """The record of earlier findings cannot be read."""
    SEALED = "sealed"
    """What a sealed Eval says, or that it could not be opened."""
    SUITE_UNREADABLE = "suite-unreadable"
    """A suite that concerns this change cannot be read."""
    BAR_UNREADABLE = "bar-unreadable"
    """What the target branch asks cannot be read."""
    UNCLAIMED_FILE = "unclaimed-file"
    """A changed file belongs to no Agent, and the policy asks that it does."""
    LACKING_CONTENT = "lacking-content"
    """Content of a file is missing in the clone (LFS, submodule)."""
    MISSING_TRIALS = "missing-trials"
    """Planned trials did not happen."""
    LEFT_OUT = "left-out"
    """Only some of the fixtures that the change calls for were looked at (`--fixture`,
    `--eval`)."""
    CANDIDATE_ERROR = "candidate-error"
    """Head gave no answer in any repetition, and base cannot tell whether that is new."""
    PROVIDER_ERROR = "provider-error"
    """A model provider was down or refused."""
    JUDGE_ERROR = "judge-error"
    """The judge gave no usable verdict."""
    CHECK_ERROR = "check-error"
    """One of your own checks crashed."""
    GATE_ERROR = "gate-error"
    """An Eval is not fully measured: something that an assertion needs was not there, or the gate
    failed."""
    BASELINE_ERROR = "baseline-error"
    """Base could not be measured."""
    UNCALIBRATED_JUDGE = "uncalibrated-judge"
    """The judge does not agree with people enough to block."""
    NO_PREFERENCE = "no-preference"
    """Too few of head's answers could be compared with base's."""
    STAND_IN = "stand-in"
    """A scripted model answered for a real one."""
    NO_MODEL_CALLS = "no-model-calls"
    """An Agent that should ask a model asked none."""
    BUDGET = "budget"
    """The run reached its limit of trials, tokens or money: what looked worse was not asked
    further."""
    ALLOWANCE = "allowance"
    """The pull request or the day left the run no more dollars (`policy.budget.perPullRequest`,
    `perDay`)."""
    BAR_UNMEASURED = "bar-unmeasured"
    """What the target branch asks could not be measured."""
    FRESH = "fresh"
    """What earlier runs found was set aside, on demand."""
    SUSPECT = "suspect"
    """A fixture looks worse."""
    FAILS_AS_BEFORE = "fails-as-before"
    """A fixture fails on head and on base."""
    NOTHING_TO_EVALUATE = "nothing-to-evaluate"
    """No changed file belongs to an Agent with an Eval."""


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
