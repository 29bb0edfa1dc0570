"""What a run may keep of one that was cut short: trials of the very same address, red and green
alike.

A run that goes on draws no lot again. It keeps whatever was measured, and asks `next_trials` for
the rest, which does not depend on who measured what. What was lost to a provider, a judge or the
gate was not measured, and runs again; where the agent has answered and only its judge was lost, the
judge alone is asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gateval.domain.base import JsonObject, digest, plain_numbers
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.results.offers import SharedOffer
from gateval.domain.trials.model_call import NO_BATCHES, BatchBook
from gateval.domain.trials.trial import Cause, Side, Trial, TrialKey

ENGINE_FORMAT = 1
"""Raised where a new version of Gateval asks candidates otherwise, so that answers differ."""

_UNSEEN = {
    "assertions",
    "description",
    "digest",
    "family",
    "fixture_kind",
    "labels",
    "name",
    "origin",
    "path",
    "place",
    "places",
    "reference",
    "severity",
    "target_agent",
}
"""What of a fixture no candidate is told."""

SEEN = {"bind_ports", "candidate_env", "egress", "gateway", "loopback_upstreams"}
"""What of the policy a candidate can notice."""


def addresses(plan: Plan) -> Callable[[TrialKey], tuple[str, str]]:
    """Return what gives the two addresses of a trial of `plan`: that of its answer and that of its
    judgement, each a SHA-256 in hex over canonical JSON.

    The first covers all that can change the answer: the Agent as it is on the trial's side with its
    closure, set-up, models and tools, scripted models, the fixture as far as an agent is told of
    it, playground and replays among that, time limits, the policy of the gateway, the trial's
    key and `ENGINE_FORMAT`. The second covers that and all that the judge is shown and asked. Keys,
    ports, nonces and delimiters are drawn for each run, and none follows from either. 300 and 300.0
    are alike: a plan that was stored has the second.
    """
    about_agents: dict[tuple[str, Side], JsonObject] = {
        (one.name, one.side): plain_numbers(one.model_dump(mode="json", exclude={"place"}))
        for one in plan.agents
    }
    scripts = {one.side: digest(one.model_dump(mode="json")) for one in plan.scripts}
    policy = plain_numbers(plan.policy.model_dump(mode="json", include=SEEN))
    judges = {one.name: plain_numbers(_judging(one)) for one in plan.evals}
    evals = {one.name: one for one in plan.evals}
    fixtures = {(one.name, each.name): each for one in plan.evals for each in one.fixtures}
    told: dict[tuple[str, str, Side], tuple[str, str]] = {}

    def of_fixture(name: str, fixture: Fixture, side: Side) -> tuple[str, str]:
        planned = evals[name]
        answer = digest(
            {
                "engine": ENGINE_FORMAT,
                "agent": about_agents.get((planned.agent, side)),
                "scripts": scripts.get(side, ""),
                "fixture": plain_numbers(fixture.model_dump(mode="json", exclude=_UNSEEN)),
                "seconds": plain_numbers(planned.execution.timeout_seconds),
                "needs_model": planned.needs_model,
                "policy": policy,
            }
        )
        about = {"fixture": fixture.digest, "judges": scripts.get(Side.HEAD, "")}
        return answer, digest({**judges[name], **about})

    def address(key: TrialKey) -> tuple[str, str]:
        known = (key.eval, key.fixture, key.side)
        if known not in told:
            told[known] = of_fixture(key.eval, fixtures[key.eval, key.fixture], key.side)
        answer, judgement = told[known]
        answer = digest([answer, key.eval, key.fixture, key.side, key.repetition])
        return answer, digest([answer, judgement])

    return address


def _judging(planned: PlannedEval) -> JsonObject:
    """Return what the judge of an Eval is, and how it is asked."""
    calibration = planned.calibration
    return {
        "judge": planned.judge.model_dump(mode="json"),
        "calibration": calibration.model_dump(mode="json") if calibration else None,
        "scoring": planned.scoring.model_dump(mode="json"),
    }


class KeptTrials(NamedTuple):
    """What a run keeps of an earlier one. `measured` count as they are; of those `to_judge` the
    answer is kept, and what assesses it is asked again.
    """

    measured: tuple[Trial, ...] = ()
    to_judge: tuple[Trial, ...] = ()


NO_TRIALS = KeptTrials()


def kept_trials(plan: Plan, earlier: Plan, trials: Iterable[Trial]) -> KeptTrials:
    """Return which `trials`, made by `earlier`, a run of `plan` keeps.

    None of another head or base, and none that `plan` does not ask for. Those of sealed Evals are
    in no log.
    """
    if not same_revisions(plan, earlier):
        return NO_TRIALS
    now, then = addresses(plan), addresses(earlier)
    apart = kept_apart(plan) | kept_apart(earlier)
    most = plan.most_repetitions()
    stored = {one.name: one.stored_counts() for one in plan.evals}
    standing = {(one.name, each.fixture) for one in plan.evals for each in one.standing}
    before = {(one.name, each.name) for one in earlier.evals for each in one.fixtures}
    fixtures = {(one.name, each.name): each for one in plan.evals for each in one.fixtures}

    def is_asked(key: TrialKey) -> bool:
        name = (key.eval, key.fixture)
        if key.eval in apart or name in standing or name not in before:
            return False
        there = stored[key.eval].get(key.fixture, 0) if key.side is Side.BASE else 0
        return there < key.repetition <= most.get((*name, key.side), 0)

    measured, to_judge = list[Trial](), list[Trial]()
    for trial in trials:
        if trial.key.eval not in stored or not is_asked(trial.key):
            continue
        if now(trial.key) != then(trial.key):
            continue
        fixture = fixtures[trial.key.eval, trial.key.fixture]
        if can_judge_again(fixture, trial, batched=earlier.batched):
            to_judge.append(trial)
        elif trial.passed is not None:
            measured.append(trial)
    return KeptTrials(tuple(measured), tuple(to_judge))


def can_judge_again(fixture: Fixture, trial: Trial, *, batched: bool) -> bool:
    """Whether a trial was lost by its judge alone, and all that was assessed is still there. Where
    judges are `batched`, one that failed anyway lacks its judge all the same: it was to be asked.
    """
    lost = trial.cause is Cause.JUDGE or (batched and lacks_judge(trial))
    cut = trial.trace is None or any(step.truncated for step in trial.trace.steps)
    whole = trial.output is not None and not trial.output_truncated and not cut
    alone = not fixture.turns and fixture.playground is None
    return lost and whole and alone


def lacks_judge(trial: Trial) -> bool:
    """Whether a judge has not said what it is asked of a trial, whatever else is known of that."""
    return any(one.cause is Cause.JUDGE and one.counts for one in trial.assessments)


def same_revisions(plan: Plan, earlier: Plan) -> bool:
    """Whether two plans hold the same head against the same base."""
    one, other = (
        [(each.commit, each.tree) if each else None for each in (of.head, of.base)]
        for of in (plan, earlier)
    )
    return one == other


def offered_in(
    plan: Plan, kept: KeptTrials, offers: Iterable[SharedOffer]
) -> tuple[SharedOffer, ...]:
    """Return what models were offered in the trials that are kept, each counted once: a run that
    was killed has noted what, and not always in how many.
    """
    agents = {one.name: one.agent for one in plan.evals}
    asked = Counter(
        (agents[one.key.eval], one.key.side)
        for one in (*kept.measured, *kept.to_judge)
        if one.trace is not None and one.trace.model_calls
    )
    return tuple(one.replace(trials=many) for one in offers if (many := asked[one.agent, one.side]))


def resumed_sentence(run: str, kept: KeptTrials, lost: int) -> str:
    """Say what a run keeps of `run`. `lost` were under way when that ended, and are paid again."""
    said = [f"{len(kept.measured):,} measured there count, red and green alike"]
    if kept.to_judge:
        said.append(f"of {len(kept.to_judge):,} more the judge alone is asked again")
    if lost:
        said.append(f"{lost:,} under way when it ended are paid again")
    return f"Goes on from run {run}; of its trials, {'; '.join(said)}."


class Resumed(NamedTuple):
    """What a run keeps of an earlier one, the sentence that says so, what models were offered
    there, and what it asked in batches.
    """

    kept: KeptTrials = NO_TRIALS
    told: str = ""
    offers: tuple[SharedOffer, ...] = ()
    batches: BatchBook = NO_BATCHES


NOTHING_KEPT = Resumed()
