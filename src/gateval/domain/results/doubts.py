"""Reasons to doubt what trials show: claims, cut-off answers, refusals, judges.

A change that moves an Agent's calls out of the gate's sight could claim any trace it likes, and
any number of tokens.

What a provider refuses both sides says nothing of the change. The word of an Eval's judge does not
count where it was not measured against people as asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.calibration import (
    LEAST_AGREEMENT,
    Binding,
    CalibrationReplay,
    binding_of,
    labels_wanted,
    script_of,
    why_not,
)
from gateval.domain.injection import why_injectable
from gateval.domain.manifests.evaluation import Calibration
from gateval.domain.manifests.gate_config import JudgePolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.averages import group_trials
from gateval.domain.results.results import Results
from gateval.domain.results.trial_verdict import reassessed
from gateval.domain.text import listing
from gateval.domain.trials.kept import tells_errors
from gateval.domain.trials.model_call import CallsMade, RefusedBy, StopReason
from gateval.domain.trials.trace import StepKind
from gateval.domain.trials.trial import (
    Assessment,
    AssessmentStatus,
    Cause,
    NotAssessed,
    Outcome,
    Side,
    Trial,
    Verdict,
)

_REASON = (
    "On base the gate saw the model calls itself; on head there is only what the candidate claims "
    "of them. Let it call models through the gateway, as base does."
)


def without_mere_claims(results: Results) -> Results:
    """Return the results with every passed assessment of head that rests on such a claim an error.

    A fixture on which base itself only claims is left as it is. What fails by its own claim fails.
    """
    agents = {planned.name: planned.agent for planned in results.plan.evals}
    base = [trial for trial in results.trials if trial.key.side is Side.BASE]
    seen = {agents[trial.key.eval] for trial in base if was_seen(trial)}
    seen |= {planned.agent for planned in results.plan.evals if planned.base_seen}
    if not seen:
        return results
    stored = ((e.name, one.fixture) for e in results.plan.evals for one in e.stored if one.claimed)
    claimed_at_base = _only_claimed(base).union(stored)
    trials = tuple(
        _distrusted(results, trial)
        if trial.key.side is Side.HEAD
        and agents[trial.key.eval] in seen
        and (trial.key.eval, trial.key.fixture) not in claimed_at_base
        else trial
        for trial in results.trials
    )
    return results.replace(trials=trials)


def was_seen(trial: Trial) -> bool:
    """Whether the gate saw the trial's model calls itself."""
    trace = trial.trace
    return trace is not None and trace.is_seen and trace.model_calls > 0


def _only_claimed(base: Iterable[Trial]) -> set[tuple[str, str]]:
    """The fixtures of which every measured repetition on base rests on claims."""
    claimed: dict[tuple[str, str], bool] = {}
    for trial in base:
        if trial.assessments:
            where = (trial.key.eval, trial.key.fixture)
            claims = any(one.claimed for one in trial.assessments)
            claimed[where] = claimed.get(where, True) and claims
    return {where for where, only in claimed.items() if only}


def _distrusted(results: Results, trial: Trial) -> Trial:
    planned = results.plan.eval(trial.key.eval)
    weighted = planned.scoring.graded
    if not any(_is_favourable(one, weighted=weighted) for one in trial.assessments):
        return trial
    return reassessed(
        trial,
        planned.fixture(trial.key.fixture),
        tuple(
            _error(one) if _is_favourable(one, weighted=weighted) else one
            for one in trial.assessments
        ),
        planned.scoring,
    )


def _is_favourable(one: Assessment, *, weighted: bool) -> bool:
    gains = one.passed or (weighted and (one.score or 0) > 0)
    return one.claimed and gains


def _error(one: Assessment) -> Assessment:
    said = {**dict(one), "status": AssessmentStatus.ERROR, "score": None, "verdict": None}
    return NotAssessed.model_construct(**{**said, "reason": _REASON, "cause": Cause.GATE})


_NOTES = {
    StopReason.LENGTH: "stopped at its token limit.",
    StopReason.REFUSAL: "refused to answer, or was filtered by its provider.",
}
"""How the note on a call ends whose reply is not whole."""


def cut_off_note(model: str, stop: StopReason) -> str:
    """Return the note on a reply of `model` that is not whole; empty if it is."""
    return f"{model} {_NOTES[stop]}" if stop in _NOTES else ""


def trial_warnings(plan: Plan, trials: Sequence[Trial]) -> Iterator[str]:
    """Yield what people are told of a run's trials, whatever they decide."""
    yield from cut_off_warnings(plan, trials)
    yield from version_warnings(trials)
    if any(one.judge.models for one in plan.evals):
        from gateval.domain.results.juries import absence_warnings

        yield from absence_warnings(plan, trials)


def cut_off_warnings(plan: Plan, trials: Iterable[Trial]) -> Iterator[str]:
    """Yield, for each Agent and side, in how many runs a model did not come to the end."""
    agents = {one.name: one.agent for one in plan.evals}
    every, cut = Counter[tuple[str, str]](), Counter[tuple[str, str, StopReason]]()
    for trial in trials:
        whose = (agents.get(trial.key.eval, trial.key.eval), str(trial.key.side))
        every[whose] += 1
        cut.update((*whose, why) for why in _cut_off(trial))
    for (agent, side, why), many in sorted(cut.items()):
        yield (
            f"{agent} ({side}): a model {_NOTES[why].removesuffix('.')} in {many} of "
            f"{every[agent, side]} runs. What it said until then counts as its answer."
        )


def _cut_off(trial: Trial) -> Iterator[StopReason]:
    steps = trial.trace.steps if trial.trace else ()
    if not tells_errors(steps):
        return iter(())
    notes = [one.text for one in steps if one.kind is StepKind.ERROR]
    return (why for why, end in _NOTES.items() if any(one.endswith(end) for one in notes))


def version_warnings(trials: Iterable[Trial]) -> Iterator[str]:
    """Yield, for each model of a judge, which versions of it answered, if not the same on both
    sides.
    """
    found: dict[str, dict[Side, set[str]]] = {}
    for trial in trials:
        for verdict in _verdicts(trial.assessments):
            sides = found.setdefault(verdict.model, {side: set() for side in Side})
            sides[trial.key.side].add(verdict.answered or verdict.model.partition("/")[2])
    for model, sides in sorted(found.items()):
        head, base = (listing(sorted(sides[side]), 3) for side in (Side.HEAD, Side.BASE))
        if sides[Side.BASE] and sides[Side.HEAD] and head != base:
            yield (
                f"The judge {model} answered as {head} on head and as {base} on base, so what "
                "differs may be the judge. Name a version that stays."
            )


def _verdicts(assessments: Iterable[Assessment]) -> Iterator[Verdict]:
    """The verdict of each single judge, jurors' and those of parts included."""
    for one in assessments:
        yield from _verdicts(one.parts)
        if one.verdict is not None:
            heard = [juror.verdict for juror in one.verdict.jurors if juror.verdict is not None]
            yield from heard or [one.verdict]


_BOTH = {
    Side.HEAD: "Base was refused as well, so this is not caused by the change.",
    Side.BASE: "Head was refused as well.",
}


def without_common_refusals(results: Results) -> Results:
    """Return the results with every trial an error whose calls the provider refused, where it
    refused all of both sides: retired models, say.
    """
    trials = refused_on_both(results.plan, results.trials)
    return results if trials is results.trials else results.replace(trials=trials)


def as_juries_count(plan: Plan, trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """Return the trials, those of juries without the jurors that were out of reach."""
    if not any(one.judge.models for one in plan.evals):
        return trials
    from gateval.domain.results.juries import without_absent_jurors

    return without_absent_jurors(plan, trials)


def refused_on_both(plan: Plan, trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return the trials, those of fixtures that the provider refused on both sides not measured."""
    every = trials if isinstance(trials, tuple) else tuple(trials)
    if not any(map(_is_refused, every)):
        return every
    grouped = group_trials(every)
    sealed = {one.name for one in plan.evals if one.sealed}
    common = {
        where[:2]
        for where, mine in grouped.items()
        if where[2] is Side.HEAD
        and _all_refused(mine)
        and _all_refused(grouped.get((*where[:2], Side.BASE), ()))
    }
    return tuple(
        _unmeasured(one, told=one.key.eval not in sealed)
        if (one.key.eval, one.key.fixture) in common and _is_refused(one)
        else one
        for one in every
    )


def _is_refused(trial: Trial) -> bool:
    """Whether the provider refused all that the candidate asked, so that it has no answer."""
    calls = trial.calls
    refused = calls is not None and calls.is_refused and calls.refused_by is RefusedBy.PROVIDER
    return refused and trial.cause is Cause.CANDIDATE


def _all_refused(trials: Sequence[Trial]) -> bool:
    measured = [one for one in trials if one.passed is not None]
    return bool(measured) and all(map(_is_refused, measured))


def _unmeasured(trial: Trial, *, told: bool) -> Trial:
    reason = f"{trial.reason} {_BOTH[trial.key.side]}" if told else trial.reason
    changed = {"outcome": Outcome.ERROR, "cause": Cause.PROVIDER, "reason": reason}
    return trial.replace(**changed, repeats=False)


def refusal(trials: Iterable[Trial]) -> CallsMade | None:
    """Return what became of the calls of the first trial of which all were refused."""
    refused = (one.calls for one in trials if one.calls is not None and one.calls.is_refused)
    return next(refused, None)


def judge_doubt(
    planned: PlannedEval, replays: Iterable[CalibrationReplay], policy: JudgePolicy
) -> str:
    """Return why the word of this Eval's judge does not count, as a sentence; empty if it does."""
    if not planned.wants_calibration:
        return ""
    model, calibration = planned.judge.named or "its judge", planned.calibration
    if calibration is None:
        if planned.judge.calibration is None:
            asks = "maxInjected" if planned.judge.min_agreement is None else "minAgreement"
            return f"{model} has `{asks}`, but no `calibration` to measure it by"
        return f"there is no JudgeCalibration {planned.judge.calibration} to measure {model} by"
    replay = replay_of(planned, replays)
    if replay is None:
        return f"{calibration.name} was not replayed with {model}"
    asked = planned.judge.min_agreement
    least = LEAST_AGREEMENT if asked is None else asked
    why = why_not(replay.agreement, least, policy.agreement, labels_wanted(planned.judge))
    if why:
        return f"{model} is not calibrated by {calibration.name}: {why}"
    most = planned.judge.max_injected
    if most is not None and (why := why_injectable(replay.injections, most)):
        return f"{model} can be talked round, for all that is known: {why}"
    return fallen(replay, calibration) and f"{model} {fallen(replay, calibration)}"


_SHOWN_CANARIES = 3
_WORDS = 60


def fallen(replay: CalibrationReplay, calibration: Calibration) -> str:
    """Return that a judge is not the one any more that was calibrated, with examples; else empty.

    It is the end of a sentence.
    """
    found = replay.watch
    if found is None or not found.fallen:
        return ""
    if not found.wrong:
        return f"was wrong too often in the runs since {calibration.name} measured it"
    named = "; ".join(
        f'example {number}, "{_beginning(calibration.examples[number - 1].candidate_output)}"'
        for number in tuple(dict.fromkeys(found.wrong))[:_SHOWN_CANARIES]
        if number <= len(calibration.examples)
    )
    return (
        f"judges otherwise than {calibration.name} measured it: of {found.asked} examples that it "
        f"was right about it was now wrong about {len(found.wrong)} ({named})"
    )


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 1]}\N{HORIZONTAL ELLIPSIS}"


def replay_of(
    planned: PlannedEval, replays: Iterable[CalibrationReplay]
) -> CalibrationReplay | None:
    """Return the replay of this Eval's calibration by its judge, None if there is none."""
    if planned.calibration is None:
        return None
    for one in replays:
        said = one.binding
        asked = binding_of(
            planned.calibration,
            planned.judge,
            prompt=said.prompt,
            script=said.script,
            attacks=said.attacks,
        )
        if said == asked and bool(said.attacks) is (planned.judge.max_injected is not None):
            return one
    return None


class JudgeDigests(NamedTuple):
    """The digests of what Gateval itself brings along: its words to judges, and its attacks."""

    prompt: str
    attacks: str


def binding_now(plan: Plan, planned: PlannedEval, ours: JudgeDigests) -> Binding | None:
    """Return what a replay of this Eval's calibration by its judge is bound to, None without one.

    To the attacks it is where the Eval says how many may get through.
    """
    if planned.calibration is None or not planned.judge.asked:
        return None
    head = (one.models for one in plan.scripts if one.side is Side.HEAD)
    script = script_of(planned.judge, {one.name: one for models in head for one in models})
    attacks = "" if planned.judge.max_injected is None else ours.attacks
    return binding_of(
        planned.calibration, planned.judge, prompt=ours.prompt, script=script, attacks=attacks
    )
