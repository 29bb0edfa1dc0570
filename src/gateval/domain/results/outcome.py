"""From an answer and its assessments to a finished trial: outcome, cause, reason, score."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.scoring import ScoringSpec
from gateval.domain.results.trial_verdict import trial_verdict
from gateval.domain.trials.calls import CallsMade, RefusedBy
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.transcript import numbered_steps
from gateval.domain.trials.trial import (
    DETAIL_LINES,
    OUTPUT_LIMIT,
    Answer,
    Assessment,
    Cause,
    NoAnswer,
    Outcome,
    Trial,
    TrialKey,
)

MORE_TIME = "If it needs more time, raise `spec.execution.timeoutSeconds` of the Eval."
MORE_TIME_FOR_TASK = "If it needs more time, raise `timeoutSeconds` of the task or benchmark."


_NOT_SAID = (
    "So no model gave the answer of the agent, and it does not count. Where one without a model "
    "may, the Agent manifest of the target branch says `modelCalls: optional`."
)


def unanswered(answer: Answer) -> NoAnswer | None:
    """Return why what a candidate gave is no answer of a model, though it asked one; None if it is
    one, or asked none, or nobody saw its calls.

    In a conversation that holds for each turn.
    """
    turns = [(f"In turn {at} of {len(answer.turns)}: ", one.calls, one.output)
             for at, one in enumerate(answer.turns, 1)]  # fmt: skip
    for where, calls, output in turns or [("", answer.calls, answer.output)]:
        if calls is not None and calls.unanswered:
            return NoAnswer(
                cause=Cause.PROVIDER if calls.refused_by is RefusedBy.OUTAGE else Cause.CANDIDATE,
                reason=f"{where}{calls.why} {_NOT_SAID}",
                detail=tuple(f"answered: {line}" for line in output.splitlines()[:DETAIL_LINES]),
                repeats=calls.is_refused,
                trace=answer.trace,
                calls=calls,
                seconds=answer.seconds,
            )
    return None


def conclude_answer(
    key: TrialKey,
    fixture: Fixture,
    answer: Answer,
    assessments: Sequence[Assessment],
    judge_usage: Usage,
    scoring: ScoringSpec,
) -> Trial:
    """Return the trial of a candidate that answered; `scoring` is that of its Eval."""
    outcome, cause, reason, score = trial_verdict(scoring, fixture, assessments)
    return Trial(
        key=key,
        outcome=outcome,
        cause=cause,
        reason=reason,
        assessments=tuple(assessments),
        score=score,
        output=answer.output[:OUTPUT_LIMIT],
        output_truncated=len(answer.output) > OUTPUT_LIMIT,
        trace=numbered_steps(fixture.input, answer),
        calls=answer.calls,
        usage=answer.usage,
        judge_usage=judge_usage,
        seconds=answer.seconds,
    )


def reassessed(
    trial: Trial, fixture: Fixture, assessments: Sequence[Assessment], scoring: ScoringSpec
) -> Trial:
    """Return the trial as these assessments make it, in place of its own."""
    outcome, cause, reason, score = trial_verdict(scoring, fixture, assessments)
    return trial.model_copy(
        update={
            "outcome": outcome,
            "cause": cause,
            "reason": reason,
            "assessments": tuple(assessments),
            "score": score,
        }
    )


def conclude_no_answer(
    key: TrialKey, silence: NoAnswer, scoring: ScoringSpec | None = None
) -> Trial:
    """Return the trial of a candidate that gave nothing to assess; `scoring` is that of its Eval.

    It is `error` if that is not the candidate's own fault, be it late or not; else `skip` if it is
    late, and `fail` if not.
    """
    own = silence.cause is Cause.CANDIDATE
    late = silence.timed_out and own
    failed = Outcome.SKIP if late else Outcome.FAIL
    task = scoring is not None and scoring.model.tasks
    more = MORE_TIME_FOR_TASK if task else MORE_TIME
    return Trial(
        key=key,
        outcome=failed if own else Outcome.ERROR,
        cause=silence.cause,
        reason=f"{silence.reason} {more}" if late else silence.reason,
        detail=silence.detail,
        trace=silence.trace,
        calls=silence.calls,
        endless=silence.endless,
        repeats=silence.repeats or _is_refused(silence.calls),
        usage=silence.trace.usage if silence.trace else Usage(),
        seconds=silence.seconds,
    )


def _is_refused(calls: CallsMade | None) -> bool:
    return calls is not None and calls.is_refused
