"""What a trial's assessments make of it: its outcome, its score, its parts and what stands for
them.

An assertion that could not be evaluated makes a trial an `error`, unless it fails anyway: one
failed assertion where all have to pass, or a score that misses `passScore` even if all that could
not be evaluated were perfect. What does not count makes nothing, unless there is nothing else. What
was not measured is no score.

A trial that was measured says itself what it scores. What stands for all others is told by one
table, `STANDS_FOR`, which is read here and to which a test holds each cell: silence is the
candidate's doing and scores 0, whatever it is asked for; what nobody measured is no score, and
never one that helps to find a regression.

An axis of a trial scores Σ score × weight / Σ weight over its assertions, as the trial does over
all. Assertions that name no axis have one together, `__default__`. An axis whose assertions weigh
nothing scores 0 there, and has no say in means over several trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import fsum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from gateval.domain.base import Value
from gateval.domain.manifests.evaluation import TOLERANCE, ScoringSpec
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, axis_of
from gateval.domain.statistics.graded import Scores
from gateval.domain.text import show_figure, show_threshold
from gateval.domain.trials.model_call import RefusedBy, Usage
from gateval.domain.trials.trial import (
    DETAIL_LINES,
    OUTPUT_LIMIT,
    Answer,
    Assessment,
    Cause,
    NoAnswer,
    NotAssessed,
    Outcome,
    Trial,
    TrialKey,
    numbered_steps,
)

Pairs: TypeAlias = Sequence[tuple[AssertionSpec, Assessment]]
"""Assertions, each with what came of it."""


class TrialVerdict(NamedTuple):
    """What comes of a trial. `score` in [0, 1] is None when something could not be measured."""

    outcome: Outcome
    cause: Cause | None
    reason: str
    score: float | None


def trial_verdict(
    scoring: ScoringSpec, fixture: Fixture, assessments: Sequence[Assessment]
) -> TrialVerdict:
    """Return what these assessments, one for each assertion of the fixture, make of a trial."""
    lost = _unmeasured(fixture, assessments)
    if not scoring.graded:
        return _every(scoring, fixture, assessments, lost)
    pairs = zip(fixture.assertions, assessments, strict=False)
    counts = [(spec, one) for spec, one in pairs if one.counts]
    broken = (
        f"{_called(spec)} is required: {one.reason}"
        for spec, one in counts
        if one.fatal or (spec.required and one.failed)
    )
    if scoring.model.required and (why := next(broken, None)) is not None:
        return TrialVerdict(Outcome.FAIL, None, why, 0.0)
    if _says_too_little(fixture, assessments, counts):
        return lost or _nothing_counts(assessments)
    scored = [(spec, one, criterion_score(one)) for spec, one in counts]
    best = mean([(spec.weight, score) for spec, _, score in scored])
    if best >= scoring.pass_score - TOLERANCE:
        return lost or TrialVerdict(Outcome.PASS, None, "", best)
    return TrialVerdict(
        Outcome.FAIL, None, _missed(scoring, scored, best, lost), None if lost else best
    )


def _every(
    scoring: ScoringSpec,
    fixture: Fixture,
    assessments: Sequence[Assessment],
    lost: TrialVerdict | None,
) -> TrialVerdict:
    """A trial passes when every assertion does."""
    score = trial_score(fixture, assessments, scoring)
    for one in [one for one in assessments if one.counts] or assessments:
        if one.failed:
            return TrialVerdict(Outcome.FAIL, one.cause, f"{one.type}: {one.reason}", score)
    return lost or TrialVerdict(Outcome.PASS, None, "", score)


def trial_score(
    fixture: Fixture, assessments: Sequence[Assessment], scoring: ScoringSpec
) -> float | None:
    """Return Σ weight × severity weight of passed assertions over Σ of all, in [0, 1].

    Severities weigh as the Eval says. Where all weights are 0, the assertions count equally. None
    when an assessment is missing or an error: what was not measured has no score. What does not
    count is left out; if nothing else is there, there is no score.
    """
    if len(assessments) != len(fixture.assertions):
        return None
    counted = [
        (spec.weight * scoring.weight(spec.severity or fixture.severity), assessment)
        for spec, assessment in zip(fixture.assertions, assessments, strict=True)
        if assessment.counts
    ]
    if not counted or any(isinstance(one, NotAssessed) for _, one in counted):
        return None
    if not any(weight for weight, _ in counted):
        counted = [(1.0, one) for _, one in counted]
    passed = sum(weight for weight, one in counted if one.passed)
    return min(1.0, passed / sum(weight for weight, _ in counted))


def mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return Σ weight × score / Σ weight in [0, 1], 0 where nothing has weight."""
    total = fsum(weight for weight, _ in pairs)
    return min(1.0, fsum(weight * score for weight, score in pairs) / total) if total else 0.0


def criterion_score(one: Assessment) -> float:
    """Return what a criterion scores in [0, 1]: 1 at best, where it could not be evaluated.

    0 where a part of it failed that it requires.
    """
    if one.fatal:
        return 0.0
    return 1.0 if isinstance(one, NotAssessed) else one.score


def _missed(
    scoring: ScoringSpec,
    scored: Sequence[tuple[AssertionSpec, Assessment, float]],
    best: float,
    lost: TrialVerdict | None,
) -> str:
    """Say what a trial scores, at best if something was `lost`, and what costs the most."""
    model = scoring.model
    spec, one, _ = max(scored, key=lambda each: each[0].weight * (1 - each[2]))
    why = f"{_called(spec)}: {one.reason}"
    if model.weightless and not any(spec.weight for spec, _, _ in scored):
        why = model.weightless
        if model.grades:
            return why
    if not model.grades:
        at_most = "at most " if lost else ""
        saw, least = show_figure(best, scoring.pass_score), show_threshold(scoring.pass_score)
        return f"scores {at_most}{saw}, below {least}: {why}"
    word = "scores at most" if lost else f"{model.called(best)}, scores"
    return f"{word} {show_figure(best)}: {why}"


def _unmeasured(fixture: Fixture, assessments: Sequence[Assessment]) -> TrialVerdict | None:
    """Return the error that a trial is if nothing speaks against it; None if all is measured."""
    for one in [one for one in assessments if one.counts] or assessments:
        if isinstance(one, NotAssessed):
            return TrialVerdict(Outcome.ERROR, one.cause, f"{one.type}: {one.reason}", None)
    missing = len(fixture.assertions) - len(assessments)
    if not missing:
        return None
    reason = f"{missing} assertions were not evaluated"
    return TrialVerdict(Outcome.ERROR, Cause.GATE, reason, None)


def _says_too_little(fixture: Fixture, assessments: Sequence[Assessment], counts: Pairs) -> bool:
    """Whether no mean can be made: assessments are missing, or only what counts nothing has
    weight.
    """
    weighed = any(spec.weight for spec, _ in counts) or len(counts) == len(assessments)
    return len(assessments) != len(fixture.assertions) or not counts or not weighed


def _nothing_counts(assessments: Sequence[Assessment]) -> TrialVerdict:
    """Return the error that a trial is of which nothing counts."""
    one = next(one for one in assessments if not one.counts)
    reason = f"nothing else has weight, and {one.type}: {one.reason}"
    return TrialVerdict(Outcome.ERROR, one.cause, reason, None)


def _called(spec: AssertionSpec) -> str:
    return spec.name or spec.type


class State(StrEnum):
    """What became of a planned trial, or of one criterion in it, that has no score of its own.

    `silent`: the candidate gave no answer. `spoiled`: it gave one, and made unreadable what is
    looked at. `lost`: gate, provider, judge or check could not measure it. `missing`: it never ran.
    `uncounted`: a judge said something, and its word does not count.
    """

    SILENT = "silent"
    SPOILED = "spoiled"
    LOST = "lost"
    MISSING = "missing"
    UNCOUNTED = "uncounted"


class Use(StrEnum):
    """What a trial is asked for: the score of its fixture or task, the tests of head against base,
    alone or of several fixtures together, an axis, a scorer's average.
    """

    SCORE = "score"
    TASK = "task"
    HEAD = "test of head"
    BASE = "test of base"
    TOGETHER = "test of several"
    AXIS = "axis"
    SCORER = "scorer"


class StandIn(StrEnum):
    """What stands for a score: 0, both ends of the interval, the end that finds no regression,
    nothing at all (the mean is unknown, the test waits), or the rest without it.
    """

    ZERO = "0"
    BOTH_ENDS = "0 and 1"
    HARMLESS = "1 on head, 0 on base"
    UNKNOWN = "unknown"
    LEFT_OUT = "left out"


_UNKNOWN = dict.fromkeys(Use, StandIn.UNKNOWN)

STANDS_FOR: Final[Mapping[State, Mapping[Use, StandIn]]] = MappingProxyType(
    {
        State.SILENT: dict.fromkeys(Use, StandIn.ZERO),
        State.LOST: {
            **_UNKNOWN,
            Use.SCORE: StandIn.BOTH_ENDS,
            Use.HEAD: StandIn.HARMLESS,
            Use.BASE: StandIn.HARMLESS,
            Use.TOGETHER: StandIn.LEFT_OUT,
        },
        State.SPOILED: {
            **_UNKNOWN,
            Use.SCORE: StandIn.BOTH_ENDS,
            Use.HEAD: StandIn.ZERO,
            Use.BASE: StandIn.ZERO,
            Use.TOGETHER: StandIn.ZERO,
        },
        State.MISSING: {**_UNKNOWN, Use.SCORE: StandIn.BOTH_ENDS},
        State.UNCOUNTED: {
            **dict.fromkeys(Use, StandIn.LEFT_OUT),
            Use.SCORER: StandIn.UNKNOWN,
        },
    }
)
"""What stands for the score of a trial that has none. Where a criterion is left out and nothing
else is there, the trial is lost. Where a trial only passes or does not, a spoiled one is silent.
"""


def grade(trial: Trial, use: Use = Use.SCORE) -> float | None:
    """Return the score of a trial in [0, 1], or what stands for it; None where it has none."""
    if trial.score is not None:
        return trial.score
    state = State.LOST
    if trial.passed is False and not (trial.assessments and trial.answered):
        state = State.SPOILED if trial.assessments else State.SILENT
    return _number(STANDS_FOR[state][use])


def _number(found: float | StandIn) -> float | None:
    """Return a score or the 0 that stands for it; None where it has to be known to be used."""
    return 0.0 if found is StandIn.ZERO else None if isinstance(found, StandIn) else found


def unbroken(trials: Iterable[Trial]) -> list[Trial]:
    """Return a side's trials by repetition, as far as none is missing."""
    found = list(trials)
    if [one.key.repetition for one in found] == [*range(1, len(found) + 1)]:
        return found
    by_number = {trial.key.repetition: trial for trial in found}
    found = []
    while (trial := by_number.get(len(found) + 1)) is not None:
        found.append(trial)
    return found


def grades(trials: Sequence[Trial], use: Use = Use.HEAD) -> Scores:
    """Return the scores of a side's trials as far as no repetition is missing."""
    return [grade(trial, use) for trial in unbroken(trials)]


def by_criterion(trials: Iterable[Trial], index: int) -> list[float | None]:
    """Return what the assertion at this position scores in each trial, None where unknown."""
    return [_number(_criterion(trial, index, Use.SCORER)) for trial in trials]


def _criterion(trial: Trial, index: int, use: Use) -> float | StandIn:
    """Return what one criterion of a trial scores, or what stands for it."""
    one = next((one for one in trial.assessments if one.index == index), None)
    if one is None:
        silent = trial.passed is False and not trial.assessments
        state = State.SILENT if silent else State.MISSING
    elif not one.counts:
        state = State.UNCOUNTED
    elif isinstance(one, NotAssessed):
        state = State.SPOILED if one.cause is Cause.CANDIDATE else State.LOST
    else:
        return criterion_score(one)
    return STANDS_FOR[state][use]


class AxisScore(Value):
    """The score of one axis of one trial in [0, 1], None where it was not measured in full.

    `weight` is the sum of the weights of its assertions.
    """

    score: float | None
    weight: float


def axis_scores(fixture: Fixture, trial: Trial) -> Mapping[str, AxisScore]:
    """Return the scores of a trial by axis; of a silent one each is 0."""
    found: dict[str, list[tuple[float, float | StandIn]]] = {}
    for index, spec in enumerate(fixture.assertions):
        score = _criterion(trial, index, Use.AXIS)
        found.setdefault(axis_of(spec), []).append((spec.weight, score))
    return {axis: _axis_score(scores) for axis, scores in found.items()}


def _axis_score(scores: Sequence[tuple[float, float | StandIn]]) -> AxisScore:
    weight = sum(each for each, _ in scores)
    counted = [(each, _number(one)) for each, one in scores if one is not StandIn.LEFT_OUT]
    known = [(each, one) for each, one in counted if one is not None]
    whole = counted and len(known) == len(counted)
    return AxisScore(score=mean(known) if whole else None, weight=weight)


def axis_grades(axis: str, fixture: Fixture, trials: Iterable[Trial]) -> list[float | None]:
    """Return a fixture's scores on an axis as far as no repetition is missing."""
    scores = [axis_scores(fixture, trial).get(axis) for trial in unbroken(trials)]
    return [score.score if score else None for score in scores]


def whole_mean(scores: Sequence[float | None], many: int) -> float | None:
    """Return the mean of the first `many` scores; None unless all of them are known."""
    known = [one for one in scores[:many] if one is not None]
    return fsum(known) / many if len(known) == many else None


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
    return Trial.of_known(
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
    return trial.replace(
        outcome=outcome, cause=cause, reason=reason, assessments=tuple(assessments), score=score
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
        repeats=silence.repeats or (silence.calls is not None and silence.calls.is_refused),
        usage=silence.trace.usage if silence.trace else Usage(),
        seconds=silence.seconds,
    )
