"""Results from elsewhere, held against a plan made here: only the trials are taken from them.

A part is what one job of a matrix measured, or all that an untrusted run claims. Which Agents,
Evals, fixtures and thresholds there are, and under which policy, says the plan that was made here,
from git; so a part can at most claim how trials ended. What no part holds is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.base import Value, canonical_json
from gateval.domain.plan.plan import Plan, SideScripts
from gateval.domain.results.results import Results, RunInfo, results_of
from gateval.domain.trials.trial import Trial
from gateval.errors import StageFileError

_HINT = "Let one run measure and publish the same commit, with the same version of Gateval."


def assemble(plan: Plan, parts: Sequence[Results], info: RunInfo) -> Results:
    """Return the results of `plan` with the trials of all parts.

    Raises `StageFileError` for a part of another head or base, for one that measured an Agent, Eval
    or scripted model otherwise than the plan says, and for a trial that two parts hold.
    """
    trials: dict[object, Trial] = {}
    replays = {one.binding.digest: one for part in parts for one in part.calibrations}
    for part in parts:
        _refuse_other(plan, part.plan)
        for trial in part.trials:
            if trial.key in trials:
                raise StageFileError(
                    f"Two of the results hold the same run, {trial.key}.",
                    hint="Give every job of the matrix Evals of its own, and a folder of its own.",
                )
            trials[trial.key] = trial
    return results_of(plan, trials.values(), info, replays.values())


def _refuse_other(plan: Plan, claimed: Plan) -> None:
    for side, ours, theirs in (
        ("head", plan.head, claimed.head),
        ("base", plan.base, claimed.base),
    ):
        mine = ours and (ours.commit, ours.tree)
        if mine != (theirs and (theirs.commit, theirs.tree)):
            raise StageFileError(
                f"The results were measured on another {side} than the one that is looked at now.",
                hint=_HINT,
            )
    for what, known, found in (
        ("an Agent", plan.agents, claimed.agents),
        ("an Eval", plan.evals, claimed.evals),
        ("a scripted model", _models(plan.scripts), _models(claimed.scripts)),
    ):
        if not _texts(found) <= _texts(known):
            raise StageFileError(
                f"The results rest on {what} that is not so on this commit.", hint=_HINT
            )


def _models(scripts: Sequence[SideScripts]) -> tuple[SideScripts, ...]:
    """One entry per scripted model: a part needs only some of a side's."""
    return tuple(
        SideScripts(side=one.side, models=(model,)) for one in scripts for model in one.models
    )


def _texts(values: Sequence[Value]) -> set[str]:
    return {canonical_json(value.model_dump(mode="json")) for value in values}
