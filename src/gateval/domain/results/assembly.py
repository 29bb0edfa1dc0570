"""Results from elsewhere, held against a plan made here: only the trials are taken from them.

A part is what one job of a matrix measured, or all that an untrusted run claims. Which Agents,
Evals, fixtures and thresholds there are, and under which policy, says the plan that was made here,
from git; so a part can at most claim how trials ended, and of its plan it needs digests alone. What
no part holds is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import StringConstraints, ValidationError

from gateval.domain.base import DIGEST_PATTERN, Value, digest, plain_message
from gateval.domain.calibration.replay import CalibrationReplay
from gateval.domain.plan.plan import Plan, Revision, SideScripts
from gateval.domain.results.results import Results, RunInfo, results_of
from gateval.domain.trials.trial import Trial
from gateval.errors import StageFileError

_HINT = "Let one run measure and publish the same commit, with the same version of Gateval."
_SHOWN = 300

Digest = Annotated[str, StringConstraints(pattern=DIGEST_PATTERN)]
"""That of a value's canonical JSON."""


class PlanDigest(Value):
    """What was measured, and on which commits: a plan of which each value is named by its digest.

    One digest of all would be that of no other plan: a job of a matrix plans some of the Evals.
    """

    head: Revision
    base: Revision | None
    agents: tuple[Digest, ...]
    evals: tuple[Digest, ...]
    scripts: tuple[Digest, ...]


class Part(Value):
    """What one job measured, in report order, without its plan.

    `over_budget` is as in `RunInfo`.
    """

    version: Literal["part.v1"] = "part.v1"
    plan: PlanDigest
    trials: tuple[Trial, ...] = ()
    calibrations: tuple[CalibrationReplay, ...] = ()
    over_budget: str = ""


def part_of(results: Results) -> Part:
    """Return results as a part of those that will be put together elsewhere."""
    return Part(
        plan=digest_of(results.plan),
        trials=results.trials,
        calibrations=results.calibrations,
        over_budget=results.info.over_budget,
    )


def digest_of(plan: Plan) -> PlanDigest:
    """Return the digests of what a plan measures."""
    return PlanDigest(
        head=plan.head,
        base=plan.base,
        agents=_digests(plan.agents),
        evals=_digests(plan.evals),
        scripts=_digests(_models(plan.scripts)),
    )


def assemble(plan: Plan, parts: Sequence[Part], info: RunInfo) -> Results:
    """Return the results of `plan` with the trials of all parts.

    Raises `StageFileError` for a part of another head or base, for one that measured an Agent, Eval
    or scripted model otherwise than the plan says, for a trial that two parts hold, for one of an
    Eval that its part did not measure, and for one that the plan does not ask for or that says
    something else than its assertions.
    """
    trials: dict[object, Trial] = {}
    replays = {one.binding.digest: one for part in parts for one in part.calibrations}
    ours = digest_of(plan)
    names = dict(zip(ours.evals, (one.name for one in plan.evals), strict=True))
    for part in parts:
        _refuse_other(ours, part.plan)
        measured = {names[one] for one in part.plan.evals}
        for trial in part.trials:
            if trial.key in trials:
                raise StageFileError(
                    f"Two of the results hold the same run, {_shown(trial)}.",
                    hint="Give every job of the matrix Evals of its own, and a folder of its own.",
                )
            if trial.key.eval not in measured:
                raise StageFileError(
                    f"The results hold {_shown(trial)}, and do not say what its Eval asks.",
                    hint=_HINT,
                )
            trials[trial.key] = trial
    try:
        return results_of(plan, trials.values(), info, replays.values())
    except ValidationError as error:
        said = plain_message(error.errors(include_url=False)[0]["msg"])
        raise StageFileError(
            f"The results are not those of this plan: {said[:_SHOWN]}.", hint=_HINT
        ) from error


def _refuse_other(ours: PlanDigest, theirs: PlanDigest) -> None:
    for side, mine, claimed in (
        ("head", ours.head, theirs.head),
        ("base", ours.base, theirs.base),
    ):
        if (mine and (mine.commit, mine.tree)) != (claimed and (claimed.commit, claimed.tree)):
            raise StageFileError(
                f"The results were measured on another {side} than the one that is looked at now.",
                hint=_HINT,
            )
    for what, known, found in (
        ("an Agent", ours.agents, theirs.agents),
        ("an Eval", ours.evals, theirs.evals),
        ("a scripted model", ours.scripts, theirs.scripts),
    ):
        if not set(found) <= set(known):
            raise StageFileError(
                f"The results rest on {what} that is not so on this commit.", hint=_HINT
            )


def _models(scripts: Sequence[SideScripts]) -> tuple[SideScripts, ...]:
    """One entry per scripted model: a part needs only some of a side's."""
    return tuple(
        SideScripts(side=one.side, models=(model,)) for one in scripts for model in one.models
    )


def _digests(values: Iterable[Value]) -> tuple[str, ...]:
    return tuple(digest(value.model_dump(mode="json")) for value in values)


def _shown(trial: Trial) -> str:
    return str(trial.key)[:_SHOWN]
