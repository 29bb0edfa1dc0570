"""Whether models had a say in what head is measured by, head against base of the same run. Pure.

What a provider refuses both sides says nothing of the change. An Agent that asked models on base
and asks none on head may have lost them, and answers of something else are no measure of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gateval.domain.plan.plan import Plan
from gateval.domain.results.grouping import group_trials
from gateval.domain.results.results import Results
from gateval.domain.trials.calls import CallsMade, RefusedBy
from gateval.domain.trials.trial import Cause, Outcome, Side, Trial

_BOTH = {
    Side.HEAD: "Base was refused as well, so this is not caused by the change.",
    Side.BASE: "Head was refused as well.",
}


def without_common_refusals(results: Results) -> Results:
    """Return the results with every trial an error whose calls the provider refused, where it
    refused all of both sides: retired models, say.
    """
    trials = refused_on_both(results.plan, results.trials)
    return results if trials is results.trials else results.model_copy(update={"trials": trials})


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
    return trial.model_copy(update={**changed, "repeats": False})


class LostModels(NamedTuple):
    """An Agent that asked models on base, in `asked` of `base` runs made now, and in none of head's
    `head` ones. `base` is 0 where only what was stored of base tells. `eval` is one of its Evals.
    """

    agent: str
    eval: str
    asked: int
    base: int
    head: int


def lost_models(results: Results) -> Iterator[LostModels]:
    """Yield the Agents whose models head no longer asks in the whole run, and has to."""
    evals: dict[str, list[str]] = {}
    seen: set[str] = set()
    for planned in results.plan.evals:
        if planned.needs_model:
            evals.setdefault(planned.agent, []).append(planned.name)
            seen |= {planned.agent} if planned.base_seen else set()
    for agent, names in evals.items():
        mine = [one for one in results.trials if one.key.eval in names and one.output is not None]
        head = [one.calls for one in mine if one.key.side is Side.HEAD]
        base = [one.calls for one in mine if one.key.side is Side.BASE]
        known = [one for one in head if one is not None]
        if not head or len(known) < len(head):
            continue  # nobody answered, or nobody saw what was asked
        asked = [one for one in base if one is not None and one.made]
        talked = any(one.talks for one in asked)
        if any(one.talks if talked else one.made for one in known):
            continue
        if asked or agent in seen:
            yield LostModels(agent, names[0], len(asked), len(base), len(head))


def refusal(trials: Iterable[Trial]) -> CallsMade | None:
    """Return what became of the calls of the first trial of which all were refused."""
    refused = (one.calls for one in trials if one.calls is not None and one.calls.is_refused)
    return next(refused, None)
