"""How a plan splits what it has: certainty over fixtures, repetitions over the run, none for
quarantine.

The budget for false alarms is split over the Evals, equally unless the policy gives weights, then
over the fixtures of each and its tests of several together. What the pull request adds gets nothing
of it, and so dilutes nothing.

It is done before anything runs, so the schedule that follows is as valid as one that asks for so
few by itself. Of n repetitions the nth tells least: the variance of a rate falls by p(1-p)/n(n-1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import script_name
from gateval.domain.manifests.gate_config import Policy, QuarantinedFixture, UnsetThresholdPolicy
from gateval.domain.paths import nearest
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import (
    Baseline,
    PlannedEval,
    Quarantined,
    axis_tests,
    joint_tests,
    together_only,
)
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    EvalErrorBudget,
    eval_shares,
    joint_shares,
    split,
)


def with_shares(
    planned: Sequence[PlannedEval],
    head: Snapshot,
    base: Snapshot,
    tip: Snapshot | None,
    policy: Policy,
) -> list[PlannedEval]:
    """Return the Evals, each told which of its fixtures are compared, and with which shares.

    An Eval of which the target branch's version runs, too, shares its part with that one. Trials
    that count for both are looked at once.
    """
    strict = policy.unset_threshold is UnsetThresholdPolicy.STRICT
    told = [_told(one, head, base, tip or base, strict=strict) for one in planned]
    compared = [one for one in told if one.compared]
    tests = {(one.own_name, _trials_of(one)): one.name for one in reversed(compared)}
    versions = Counter(own_name for own_name, _ in tests)
    weights = {name: policy.eval_weights.get(name, 1.0) for name in versions}
    if not weights:
        return told
    fixtures, broad = split(FIXTURES, weights), split(BROAD, weights)
    by_name: dict[str, list[PlannedEval]] = {}
    for one in compared:
        by_name.setdefault(one.own_name, []).append(one)
    parts = {
        name: eval_shares(
            fixtures[name],
            broad[name],
            *_looked_at(by_name[name]),
        )
        for name in versions
    }
    with_test = set(tests.values())
    return [
        one.replace(
            **_shares(
                one, parts[one.own_name], versions[one.own_name] if one.name in with_test else 0
            )
        )
        if one.compared
        else one
        for one in told
    ]


def _shares(planned: PlannedEval, parts: EvalErrorBudget, versions: int) -> dict[str, float]:
    """Return the shares of one Eval; `versions` of it share the joint tests (0: none)."""
    found = {"fixture_share": parts.fixture, "silence_share": parts.silence}
    if versions:
        reps = planned.execution.reps_per_fixture
        others = len(joint_tests(planned.fixtures, planned.compared, reps)) - 1
        graded = planned.scoring.graded
        axes = len(axis_tests(planned.fixtures, planned.compared, reps)) if graded else 0
        asking = any(planned.fixture(one).preference is not None for one in planned.compared)
        shares = joint_shares(parts.joint / versions, max(0, others), axes, preferences=asking)
        found |= {
            "broad_share": shares.whole,
            "family_share": shares.family,
            "axis_share": shares.axis,
            "preference_share": shares.preference,
        }
    return found


def _looked_at(evals: Iterable[PlannedEval]) -> tuple[int, int]:
    """Return how many compared fixtures run under their names, alone and with their family only."""
    alone = together = 0
    for one in evals:
        apart = together_only(one.fixtures, one.compared)
        own = {fixture.name for fixture in one.own_fixtures} & set(one.compared)
        together += len(own & apart)
        alone += len(own - apart)
    return alone, together


def _trials_of(planned: PlannedEval) -> frozenset[tuple[str, str]]:
    """Return the trials of a test of all compared fixtures: their Evals and their names.

    Two versions that look at the same have the same test; the first has it.
    """
    owners = planned.owners()
    return frozenset((owners[name], name) for name in planned.compared)


def _told(
    planned: PlannedEval, head: Snapshot, base: Snapshot, tip: Snapshot, *, strict: bool
) -> PlannedEval:
    before = _digests(planned, base.catalogue)
    if tip is not base:
        before = {**_digests(planned, tip.catalogue), **before}
    same_agent = planned.baseline is Baseline.SAME_AGENT
    names = [fixture.name for fixture in planned.fixtures if fixture.name in before]
    standing = planned.baseline is Baseline.MERGE_BASE
    added = [
        fixture.name
        for fixture in planned.fixtures
        if fixture.name not in before or (same_agent and before[fixture.name] != fixture.digest)
    ]
    return planned.replace(
        compared=tuple(names) if standing else (),
        added=tuple(added) if planned.bar is None else (),
        deterministic=_deterministic(planned, head, base, tip),
        strict=strict,
    )


def _digests(planned: PlannedEval, catalogue: Catalogue) -> dict[str, str]:
    """The fixtures of the Eval of this name in another revision, by name."""
    before = catalogue.eval(planned.own_name)
    if before is None:
        return {}
    return {fixture.name: fixture.digest for fixture in select_fixtures(before, catalogue)}


def _deterministic(planned: PlannedEval, head: Snapshot, base: Snapshot, tip: Snapshot) -> bool:
    """Whether the candidates are known to do the same each time: declared so, or by rules alone."""
    declared = tip.catalogue.eval(planned.own_name) or base.catalogue.eval(planned.own_name)
    if declared is not None and declared.execution.deterministic:
        return True
    return all(_follows_rules(planned.agent, snapshot) for snapshot in (head, base))


def _follows_rules(name: str, snapshot: Snapshot) -> bool:
    agent = snapshot.catalogue.agent(name)
    if agent is None or agent.starts_process:
        return False
    scripts = [snapshot.scripts.get(script_name(model) or "") for model in agent.spec.models]
    return bool(scripts) and all(
        script is not None and all(rule.probability >= 1 for rule in script.spec.rules)
        for script in scripts
    )


def within(planned: Sequence[PlannedEval], trials: int | None) -> list[PlannedEval]:
    """Return the Evals with at most so many planned trials in all; None is no limit.

    The most repeated are cut first, all to the same number; what is then left over goes to the
    first ones again. No fixture goes without one trial on each of its sides.
    """
    if trials is None or _total(planned, None) <= trials:
        return list(planned)
    low, high = 1, max(one.execution.reps_per_fixture for one in planned)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _total(planned, middle) <= trials else (low, middle - 1)
    spare = trials - _total(planned, low)
    raised: set[str] = set()
    for name in dict.fromkeys(one.own_name for one in planned):
        group = [one for one in planned if one.own_name == name]
        more = sum(_trials(one, low + 1) - _trials(one, low) for one in group)
        if 0 < more <= spare:
            raised.add(name)
            spare -= more
    return [_cut(one, low + (one.own_name in raised)) for one in planned]


def _total(planned: Sequence[PlannedEval], most: int | None) -> int:
    return sum(_trials(one, most) for one in planned)


def _trials(planned: PlannedEval, most: int | None) -> int:
    reps = planned.execution.reps_per_fixture
    reps = reps if most is None else min(reps, most)
    return len(planned.own_fixtures) * reps * len(planned.sides)


def _cut(planned: PlannedEval, most: int) -> PlannedEval:
    asked = planned.execution.reps_per_fixture
    if asked <= most:
        return planned
    execution = planned.execution.replace(reps_per_fixture=most)
    return planned.replace(execution=execution, repetitions_asked=asked)


def with_quarantine(plan: Plan, today: str, catalogues: Iterable[Catalogue]) -> Plan:
    """Return the plan with what its policy has in quarantine on a day (`2026-12-01`).

    What has ended, and what names no fixture of these catalogues, is told as a warning.
    """
    entries = plan.policy.quarantine
    if not entries or not plan.evals:
        return plan
    evals = tuple(one.replace(quarantined=tuple(_of(plan, one, today))) for one in plan.evals)
    fixtures = [fixture for catalogue in catalogues for fixture in catalogue.fixtures]
    known = {name for one in fixtures for name in (one.name, one.family) if name}
    told = (*_ended(entries, today), *_unknown(entries, known))
    return plan.replace(evals=evals, warnings=(*plan.warnings, *told))


def _ended(entries: Iterable[QuarantinedFixture], today: str) -> Iterator[str]:
    every = tuple(entries)
    for one in every:
        others = (e for e in every if e.fixture == one.fixture and e.eval in {None, one.eval})
        if not any(other.holds(today) for other in others):
            yield (
                f"The quarantine of {one.fixture} ended on {one.until}: it blocks again. "
                f"{one.owner} owned it; take it out of policy.quarantine."
            )


def _unknown(entries: Iterable[QuarantinedFixture], known: Collection[str]) -> Iterator[str]:
    for one in entries:
        if one.fixture not in known:
            hint = nearest(one.fixture, known) or " Take it out."
            yield f"policy.quarantine names {one.fixture}, and there is no such fixture.{hint}"


def _of(plan: Plan, planned: PlannedEval, today: str) -> Iterator[Quarantined]:
    for fixture in planned.fixtures:
        for one in plan.policy.quarantine:
            if one.holds(today) and one.about(planned.own_name, fixture.name, fixture.family):
                yield Quarantined(fixture=fixture.name, owner=one.owner, until=one.until)
                break
