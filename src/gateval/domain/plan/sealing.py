"""What everybody may see of a sealed Eval in a plan: names and numbers, not what it asks.

Weight, severity and axis of each assertion stay, because scores are made of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import AssertionSpec, Fixture, FixtureInput
from gateval.domain.manifests.sealed import is_sealed
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.repository.place import Place

SEALED = "sealed"
"""The type of an assertion that nobody is told."""


def is_sealed_eval(evaluation: Eval, fixtures: Iterable[Fixture]) -> bool:
    """Whether an Eval with these fixtures is sealed: it says so, or a part of it lies sealed."""
    paths = (evaluation.path, *(one.path for one in fixtures))
    return evaluation.sealed or any(map(is_sealed, paths))


def is_sealed_fixture(fixture: Fixture, catalogue: Catalogue) -> bool:
    """Whether what a fixture asks is for holders of the key alone."""
    return is_sealed(fixture.path) or any(
        one.sealed and fixture.name in {each.name for each in select_fixtures(one, catalogue)}
        for one in catalogue.evals
    )


def is_open(planned: PlannedEval) -> bool:
    """Whether a sealed Eval is there with all its words, so that it may be run and not be shown."""
    return planned.sealed and any(
        one.type != SEALED for fixture in planned.fixtures for one in fixture.assertions
    )


def is_shut(planned: PlannedEval) -> bool:
    """Whether a sealed Eval is there without its words, so that it may be shown and not be run."""
    return planned.sealed and not is_open(planned)


def shut_plan(plan: Plan) -> Plan:
    """Return the plan as everybody may see it; one without sealed Evals comes back as it is."""
    if not any(map(is_open, plan.evals)):
        return plan
    return plan.model_copy(update={"evals": tuple(map(_shut_eval, plan.evals))})


def _shut_eval(planned: PlannedEval) -> PlannedEval:
    if not is_open(planned):
        return planned
    fixtures = tuple(map(shut_fixture, planned.fixtures))
    shown = {"place": _place(planned.place), "fixtures": fixtures, "feedback": ()}
    return planned.model_copy(update=shown)


def shut_fixture(fixture: Fixture) -> Fixture:
    """Return a fixture as everybody may see it, made anew of what is no secret."""
    return Fixture(
        name=fixture.name,
        target_agent=fixture.target_agent,
        fixture_kind=fixture.fixture_kind,
        severity=fixture.severity,
        input=FixtureInput(type=fixture.input.type),
        timeout_seconds=fixture.timeout_seconds,
        assertions=tuple(map(_shut_assertion, fixture.assertions)),
        place=_place(fixture.place),
        path=fixture.path,
        digest=fixture.digest,
        family=fixture.family,
    )


def _shut_assertion(spec: AssertionSpec) -> AssertionSpec:
    return AssertionSpec(
        type=SEALED,
        weight=spec.weight,
        required=spec.required,
        severity=spec.severity,
        axis=spec.axis,
        needs_judge=spec.needs_judge,
        place=_place(spec.place),
    )


def _place(place: Place) -> Place:
    """Where it is; a sealed file has no lines that people could look at."""
    return Place(file=place.file) if is_sealed(place.file) else place
