"""Evidence that the gate saw at base and the candidate merely claims on head does not count.

A change that moves an Agent's calls out of the gate's sight could claim any trace it likes, and
any number of tokens.
"""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.results.outcome import reassessed
from gateval.domain.results.results import Results
from gateval.domain.trials.trial import (
    Assessment,
    AssessmentStatus,
    Cause,
    NotAssessed,
    Side,
    Trial,
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
    claimed_at_base = _only_claimed(base) | _stored_as_claimed(results)
    trials = tuple(
        _distrusted(results, trial)
        if trial.key.side is Side.HEAD
        and agents[trial.key.eval] in seen
        and (trial.key.eval, trial.key.fixture) not in claimed_at_base
        else trial
        for trial in results.trials
    )
    return results.model_copy(update={"trials": trials})


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


def _stored_as_claimed(results: Results) -> set[tuple[str, str]]:
    return {(e.name, one.fixture) for e in results.plan.evals for one in e.stored if one.claimed}


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
