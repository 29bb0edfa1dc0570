"""What has to be equal for trials of two runs to be trials of the same thing."""

from __future__ import annotations

from pydantic import JsonValue

from gateval import __version__
from gateval.domain.base import digest
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.scripted import script_name
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.trials.trial import Side

DIGITS = 20
"""Of a fixture's digest. 80 bits: nobody finds another fixture with the same ones."""


def setting_digest(plan: Plan, planned: PlannedEval, side: Side) -> str:
    """Return the digest of all that trials of an Eval on a side depend on, but for the fixture.

    The Agent's closure and models, the judge as it is configured, the rules of a scripted one, the
    time for an answer, and Gateval's version.
    """
    agent = plan.agent(planned.agent, side)
    models: list[JsonValue] = [*agent.models, *agent.uses] if agent else []
    judge = planned.judge
    script = script_name(judge.model)
    rules: list[JsonValue] = [
        model.digest
        for one in plan.scripts
        if one.side is Side.HEAD
        for model in one.models
        if model.name == script
    ]
    closure = agent.closure if agent else ""
    asked = judge.model_dump(mode="json")
    seconds = planned.execution.timeout_seconds
    about: list[JsonValue] = [closure, models, asked, rules, seconds, __version__]
    if planned.wants_calibration and planned.calibration:
        about.append(planned.calibration.digest)
    passes = planned.scoring.trials_pass  # what a pass is, where not all assertions have to
    return digest(about if passes is None else [*about, passes])


def fixture_digest(fixture: Fixture) -> str:
    """Return the first `DIGITS` of what a fixture means."""
    return fixture.digest[:DIGITS]
