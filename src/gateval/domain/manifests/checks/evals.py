"""What can be wrong with an Eval beyond its shape: whom it names, and what its fixtures need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Broken, Catalogue
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.sealed import is_sealed
from gateval.domain.repository.place import Problem, nearest
from gateval.domain.text.quoting import quote


def eval_problems(
    evaluation: Eval, selected: Sequence[Fixture], catalogue: Catalogue
) -> Iterator[Problem]:
    """Yield what is wrong with an Eval; `selected` are the fixtures that it selects."""
    agent = catalogue.agent(evaluation.target_agent)
    if message := _missing("Agent", evaluation.target_agent, catalogue):
        yield _problem(evaluation, "spec.targetAgent", message)
    yield from _selection_problems(evaluation, catalogue)
    yield from _judge_problems(evaluation, selected, catalogue)
    for fixture in selected:
        yield from _fixture_problems(evaluation, fixture, agent)


def reference_problems(broken: Broken, catalogue: Catalogue) -> Iterator[Problem]:
    """Yield what a manifest names that is not there, though itself cannot be used."""
    for kind, name, path, place in broken.references:
        if message := _missing(kind, name, catalogue):
            yield Problem(place=place, path=path, message=message)


def _missing(kind: str, name: str, catalogue: Catalogue) -> str:
    """Say that there is no such manifest; the empty string if there is, usable or not."""
    known: Sequence[Agent] | Sequence[Fixture] | Sequence[Calibration]
    called = kind
    if kind == "Agent":
        there, known = catalogue.agent(name) is not None, catalogue.agents
    elif kind == "EvalFixture":
        there = catalogue.fixture(name) is not None or bool(catalogue.family(name))
        known, called = catalogue.fixtures, "fixture"
    else:
        there, known = catalogue.calibration(name) is not None, catalogue.calibrations
    if there or catalogue.is_broken(kind, name):
        return ""
    return f'There is no {called} "{name}".{nearest(name, (one.name for one in known))}'


def _selection_problems(evaluation: Eval, catalogue: Catalogue) -> Iterator[Problem]:
    selector = evaluation.fixture_selector
    all_known = not any(one.kind == "EvalFixture" for one in catalogue.broken)
    all_known = all_known and not catalogue.locked
    if selector is None and not evaluation.fixtures:
        yield _problem(
            evaluation,
            "spec.fixtures",
            f'The Eval "{evaluation.name}" selects no fixtures. Add fixtures or fixtureSelector.',
        )
    if selector is not None and all_known and not catalogue.labelled(selector.match_labels):
        wanted = ", ".join(f"{key}: {value}" for key, value in selector.match_labels.items())
        message = f"No fixture carries these labels: {quote(wanted)}."
        yield _problem(evaluation, "spec.fixtureSelector", message)
    for index, name in enumerate(evaluation.fixtures):
        if message := _missing("EvalFixture", name, catalogue):
            yield _problem(evaluation, f"spec.fixtures[{index}]", message)


def _judge_problems(
    evaluation: Eval, selected: Sequence[Fixture], catalogue: Catalogue
) -> Iterator[Problem]:
    judge = evaluation.judge
    judged = [
        fixture.name for fixture in selected if any(a.needs_judge for a in fixture.assertions)
    ]
    if judged and judge.model is None:
        others = f" and {len(judged) - 1} more" if len(judged) > 1 else ""
        message = (
            f'This Eval has no judge, but fixtures of it need one ("{judged[0]}"{others}). Add '
            "spec.judge.model."
        )
        yield _problem(evaluation, "spec.judge.model", message)
    if judge.is_scripted and any(
        is_sealed(one.path) and any(a.needs_judge for a in one.assertions) for one in selected
    ):
        message = (
            "The rules of a scripted judge come with a change, and its author could try words of a "
            "sealed rubric with them. Name a model here."
        )
        yield _problem(evaluation, "spec.judge.model", message)
    calibration = judge.calibration
    if calibration and (message := _missing("JudgeCalibration", calibration, catalogue)):
        yield _problem(evaluation, "spec.judge.calibration", message)


def _fixture_problems(evaluation: Eval, fixture: Fixture, agent: Agent | None) -> Iterator[Problem]:
    if fixture.target_agent not in {None, evaluation.target_agent}:
        yield _fixture_problem(
            fixture,
            "spec.targetAgent",
            f'This fixture is for the Agent "{fixture.target_agent}", but the Eval '
            f'"{evaluation.name}" at {evaluation.place} selects it and tests '
            f'"{evaluation.target_agent}".',
        )
    if agent is None or agent.runtime_type == MODEL_RUNTIME:
        return
    offered = {tool.tool_name for tool in agent.spec.tools if tool.enabled}
    for key, names in (
        ("toolReplay", [entry.tool for entry in fixture.tool_replay]),
        ("shadowTools", [*fixture.shadow_tools]),
    ):
        for name in dict.fromkeys(names):
            if name not in offered:
                yield _fixture_problem(
                    fixture,
                    f"spec.{key}",
                    f'The Agent "{agent.name}" (runtime {agent.runtime_type}), which the Eval '
                    f'"{evaluation.name}" tests with this fixture, has no tool {quote(name)}, so '
                    "the gate cannot answer for it. Add it to spec.tools of the Agent, and have "
                    f"the program take it from the gate's MCP server.{nearest(name, offered)}",
                )


def _problem(evaluation: Eval, path: str, message: str) -> Problem:
    place = evaluation.places.get(path) or evaluation.places.get(path.rpartition(".")[0])
    return Problem(place=place or evaluation.place, path=path, message=message)


def _fixture_problem(fixture: Fixture, path: str, message: str) -> Problem:
    return Problem(place=fixture.places.get(path, fixture.place), path=path, message=message)
