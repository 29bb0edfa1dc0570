"""What everybody may see of a sealed Eval in a plan: names and numbers, not what it asks.

Weight, severity and axis of each assertion stay, because scores are made of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval, is_sealed
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, FixtureInput
from gateval.domain.plan.plan import Plan, planned_trials, sealed_eval
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.problems import SourceLocation

SEALED = "sealed"
"""The type of an assertion that nobody is told."""


def is_sealed_eval(evaluation: Eval, fixtures: Iterable[Fixture]) -> bool:
    """Whether an Eval with these fixtures is sealed: it says so, or a part of it lies sealed."""
    paths = (evaluation.path, *(one.path for one in fixtures))
    return evaluation.sealed or any(map(is_sealed, paths))


def sealed_fixtures(catalogue: Catalogue) -> frozenset[str]:
    """Return the names of the fixtures whose questions are for holders of the key alone."""
    held = (select_fixtures(one, catalogue) for one in catalogue.evals if one.sealed)
    lying = (one for one in catalogue.fixtures if is_sealed(one.path))
    return frozenset(one.name for one in itertools.chain(lying, *held))


def is_open(planned: PlannedEval) -> bool:
    """Whether a sealed Eval is there with all its words, so that it may be run and not be shown."""
    return planned.sealed and any(
        one.type != SEALED for fixture in planned.fixtures for one in fixture.assertions
    )


def is_shut(planned: PlannedEval) -> bool:
    """Whether a sealed Eval is there without its words, so that it may be shown and not be run."""
    return planned.sealed and not is_open(planned)


def kept_apart(plan: Plan) -> frozenset[str]:
    """Return the names of the Evals of which nobody learns how single trials ended.

    An Eval and the target branch's version of it share trials: where one is sealed, both are.
    """
    names = {one.name for one in plan.evals if one.sealed}
    names |= {one.bar.eval for one in plan.evals if one.bar and one.bar.reused and one.sealed}
    return frozenset(
        one.name
        for one in plan.evals
        if one.name in names or (one.bar and one.bar.reused and one.bar.eval in names)
    )


class OwnKey(NamedTuple):
    """What the gate keeps for itself of sealed Evals, where everybody may look.

    `keep` encrypts a text and signs it together with what it is about; it gives an empty one
    without a key. `kept` gives the text back, None for what this key did not keep about that.
    """

    keep: Callable[[str, str], str] = lambda _, __: ""
    kept: Callable[[str, str], str | None] = lambda _, __: None


NO_KEY = OwnKey()


class PlanPart(NamedTuple):
    """Some Evals of a plan, decided by their own trials alone.

    `beside` is how many planned trials of the others share the budget of the run.
    """

    plan: Plan
    beside: int


def parts_of(plan: Plan) -> tuple[PlanPart, ...]:
    """Return the plan in parts: what is not sealed, and what is, if there are such Evals.

    Nothing that is told of the one follows from trials of the other.
    """
    apart = kept_apart(plan)
    ran = sum(one.trials for one in plan.sealed)
    if not apart:
        return (PlanPart(plan, ran),)
    shut = tuple(one for one in plan.evals if one.name in apart)
    others = [sum(map(planned_trials, shut))]
    others.append(sum(map(planned_trials, plan.evals)) - others[0])
    return (
        PlanPart(published_plan(plan), ran + others[0]),
        PlanPart(plan.replace(evals=shut), ran + others[1]),
    )


def shut_plan(plan: Plan) -> Plan:
    """Return the plan as everybody may see it; one without sealed Evals comes back as it is.

    Neither what sealed Evals ask is in it, nor what earlier runs found of their fixtures.
    """
    apart = kept_apart(plan)
    evals = tuple(_shut_eval(one) if one.name in apart else one for one in plan.evals)
    same = all(one is other for one, other in zip(evals, plan.evals, strict=True))
    return plan if same else _with_evals(plan, evals)


def published_plan(plan: Plan) -> Plan:
    """Return the plan of published results: without the sealed Evals, which have a line each."""
    apart = kept_apart(plan)
    if not apart:
        return plan
    left = tuple(one for one in plan.evals if one.name not in apart)
    gone = tuple(sealed_eval(one) for one in plan.evals if one.name in apart)
    return _with_evals(plan, left).replace(sealed=(*plan.sealed, *gone))


def without_sealed(plan: Plan) -> Plan | None:
    """Return the plan without sealed Evals, None if nothing is left to run."""
    apart = kept_apart(plan)
    left = tuple(one for one in plan.evals if one.name not in apart)
    return _with_evals(plan, left) if left else None


def _with_evals(plan: Plan, evals: tuple[PlannedEval, ...]) -> Plan:
    """Return the plan with these in place of its Evals, and the baseline of what they have."""
    found = plan.replace(evals=evals)
    if plan.baseline is None:
        return found
    stored = any(one.stored for one in evals)
    used = plan.baseline.replace(digest=found.stored_digest()) if stored else None
    return found.replace(baseline=used)


def _shut_eval(planned: PlannedEval) -> PlannedEval:
    planned = planned.measured_anew
    if not is_open(planned):
        return planned
    fixtures = tuple(map(shut_fixture, planned.fixtures))
    shown = {"place": _place(planned.place), "fixtures": fixtures, "feedback": ()}
    return planned.replace(**shown)


def shut_fixture(fixture: Fixture) -> Fixture:
    """Return a fixture as everybody may see it, made anew of what is no secret."""
    return Fixture(
        name=fixture.name,
        target_agent=fixture.target_agent,
        fixture_kind=fixture.fixture_kind,
        severity=fixture.severity,
        input=FixtureInput(type=fixture.input.type),
        timeout_seconds=fixture.timeout_seconds,
        assertions=tuple(
            AssertionSpec(
                type=SEALED,
                weight=spec.weight,
                required=spec.required,
                severity=spec.severity,
                axis=spec.axis,
                needs_judge=spec.needs_judge,
                place=_place(spec.place),
            )
            for spec in fixture.assertions
        ),
        place=_place(fixture.place),
        path=fixture.path,
        digest=fixture.digest,
        family=fixture.family,
    )


def _place(place: SourceLocation) -> SourceLocation:
    """Where it is; a sealed file has no lines that people could look at."""
    return SourceLocation(file=place.file) if is_sealed(place.file) else place
