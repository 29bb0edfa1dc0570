"""What a run takes over from others that have ended: judgements of what an Agent would say again.

That it would is certain of rules alone, which the gate itself applies (`scripted/NAME`): no program
runs, and nothing is asked of the world. Its answers cost nothing, so a trial is taken over where a
real judge was paid for it, of the same address and repetition. All other trials are lots, which
nobody draws for another run. A judge that is to look again is asked, whoever looked first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Literal

from pydantic import Field

from gateval.domain.base import Digest, Value, digest, plain_numbers
from gateval.domain.manifests.agent import MODEL_RUNTIME
from gateval.domain.manifests.evaluation import script_name
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import AgentDefinition, Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.results.fixture_progress import has_real_judge
from gateval.domain.results.results import Results
from gateval.domain.results.resume import SEEN, Resumed, lacks_judge
from gateval.domain.results.rounds import look_at
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trial import Side, Trial, TrialKey

MOST_REUSABLE = 10_000
"""Trials that one run leaves for others."""

_OF_THE_ANSWER = frozenset(
    {"toolCalled", "toolNotCalled", "toolSequence", "toolArguments", "toolTrajectory",
     "toolUsage", "skillTrigger", "contains", "notContains", "startsWith", "endsWith", "regex",
     "equals", "numeric", "isJson", "jsonSchema", "exactMatch", "containsExpected",
     "levenshtein", "numericExpected", "jsonMatch", "fieldAccuracy", "all", "any", "not",
     "composite", "judge", "llmJudge", "rubric"}
)  # fmt: skip
"""Assertions that look at the answer and its steps alone: at no clock, file or program."""


class ReusableTrial(Value):
    """A trial, and the address by which another run finds it."""

    address: Digest
    trial: Trial


class ReusableTrials(Value):
    """What one run leaves for others."""

    version: Literal["reusable.v1"] = "reusable.v1"
    trials: tuple[ReusableTrial, ...] = Field(default=(), max_length=MOST_REUSABLE)


def _settings(plan: Plan, engine: str) -> Callable[[str, str, Side], str]:
    """Return what digests all that can change answers and judgements of an Eval's fixture on a
    side, the code that measures (`engine`) among it, but not the side; empty where they are
    measured anew.
    """
    agents = {(one.name, one.side): one for one in plan.agents}
    apart, evals = kept_apart(plan), {one.name: one for one in plan.evals}
    fixtures = {(one.name, each.name): each for one in plan.evals for each in one.fixtures}
    rules = {
        (side.side, one.name): one.digest if all(r.probability >= 1 for r in one.spec.rules) else ""
        for side in plan.scripts
        for one in side.models
    }
    jurors = {name: found for (side, name), found in rules.items() if side is Side.HEAD}
    policy = plan.policy.model_dump(mode="json", include=SEEN | {"judge"})

    def of(planned: PlannedEval, fixture: Fixture, side: Side) -> str:
        agent = agents.get((planned.agent, side))
        if agent is None or planned.name in apart or not _is_gates_own(agent):
            return ""
        scripts = [
            rules.get((side, script_name(one) or "")) for one in (*agent.models, *agent.uses)
        ]
        if not scripts or not all(scripts) or not _is_fit(planned, fixture):
            return ""
        told = {
            "engine": engine,
            "agent": agent.model_dump(mode="json", exclude={"place", "side"}),
            "scripts": scripts,
            "eval": planned.name,
            "fixture": fixture.digest,
            "seconds": planned.execution.timeout_seconds,
            "needs_model": planned.needs_model,
            "policy": policy,
            "judge": planned.judge.model_dump(mode="json"),
            "jurors": [jurors.get(one, "") for one in planned.judge.scripts],
            "scoring": planned.scoring.model_dump(mode="json"),
        }
        return digest(plain_numbers(told))

    return lambda name, fixture, side: of(evals[name], fixtures[name, fixture], side)


def _address(setting: str, key: TrialKey) -> str:
    return digest([setting, key.fixture, key.repetition])


def _is_gates_own(agent: AgentDefinition) -> bool:
    """Whether the gate itself answers for an Agent, and starts nothing for it."""
    runtime = agent.runtime
    starts = (runtime.servers, runtime.setup, runtime.before, runtime.after, runtime.services)
    return runtime.type == MODEL_RUNTIME and not any(starts)


def _is_fit(planned: PlannedEval, fixture: Fixture) -> bool:
    """Whether a real judge is paid for a fixture's trials, whose word is not measured anew in each
    run, and nothing but the answer is looked at.
    """
    within = (spec for outer in fixture.assertions for spec in outer.within())
    alone = fixture.playground is None and not fixture.shadow_tools
    judged = has_real_judge(planned, fixture) and not planned.wants_calibration
    own = planned.bar is None and alone and judged
    return own and all(spec.type in _OF_THE_ANSWER for spec in within)


def reusable_of(results: Results, engine: str) -> ReusableTrials:
    """Return what others may take over of a run."""
    setting = cache(_settings(results.plan, engine))
    trials = [
        ReusableTrial(address=_address(found, one.key), trial=judged_once(one))
        for one in results.trials
        if one.passed is not None
        and not lacks_judge(one)
        and (found := setting(one.key.eval, one.key.fixture, one.key.side))
    ]
    return ReusableTrials(trials=tuple(trials[:MOST_REUSABLE]))


_UNPAID = Usage(input_tokens=0, output_tokens=0, usd=0.0)


def judged_once(trial: Trial) -> Trial:
    """Return a trial of another run: without what a second look found, and paid for there."""
    assessments = tuple(one.replace(again=None) for one in trial.assessments)
    return trial.replace(assessments=assessments, judge_usage=_UNPAID, lost_usage=Usage())


def could_reuse(plan: Plan, engine: str) -> Mapping[TrialKey, str]:
    """Return the addresses of the trials that a run of `plan` may take over."""
    setting = _settings(plan, engine)
    keys = {
        TrialKey(eval=name, fixture=fixture, side=side, repetition=number): found
        for (name, fixture, side), many in plan.most_repetitions().items()
        if (found := setting(name, fixture, side))
        for number in range(1, many + 1)
    }
    return {key: _address(found, key) for key, found in keys.items()}


def with_reused(
    plan: Plan, wanted: Mapping[TrialKey, str], runs: Iterable[tuple[str, ReusableTrials]],
    resumed: Resumed,
) -> Resumed:  # fmt: skip
    """Return `resumed` with what `runs`, each with its name and the newest first, left of what is
    `wanted` and the first look asks for.
    """
    known = {one.key for one in (*resumed.kept.measured, *resumed.kept.to_judge)}
    found, names = dict[str, Trial](), dict[str, str]()
    for name, left in runs:
        for one in left.trials:
            found.setdefault(one.address, one.trial)
            names.setdefault(one.address, name)
    taken = {
        key: judged_once(found[at]).replace(key=key)
        for key, at in wanted.items()
        if at in found and key not in known and found[at].key.repetition == key.repetition
    }
    made = look_at(plan, (*resumed.kept.measured, *taken.values())).made
    new = tuple(one for one in made if one.key in taken)
    if not new:
        return resumed
    kept = resumed.kept._replace(measured=(*resumed.kept.measured, *new))
    of = ", ".join(dict.fromkeys(names[wanted[one.key]] for one in new))
    told = (
        f"{len(new):,} judged in run {of} count here: rules answer for the Agent, which would say "
        "the same, and the judge is not paid twice."
    )
    return resumed._replace(kept=kept, told=" ".join(filter(None, (resumed.told, told))))
