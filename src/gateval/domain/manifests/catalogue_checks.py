"""Problems between the manifests of one revision, and what Evals need of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.manifests.agent_checks import (
    agent_problems,
    counts_whole_repository,
    meaningless_keys,
    misspelled_prompt,
)
from gateval.domain.manifests.catalogue import Broken, Catalogue, by_name, select_fixtures
from gateval.domain.manifests.evaluation import SEALED_WARNING, Calibration, Eval, is_sealed
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixture_checks import (
    agent_model_problems,
    decided_beforehand,
    embedding_model_problems,
    judge_model_problems,
    looks_at_state,
    playground_problems,
    unknown_tools,
)
from gateval.domain.paths import nearest, show_path
from gateval.domain.problems import Problem, SourceLocation, sort_problems
from gateval.domain.text import quote
from gateval.domain.tree import Tree


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
    known: Iterable[Agent | Fixture | Calibration]
    called = kind
    if kind == "Agent":
        there = catalogue.agent(name) is not None
        known = chain(catalogue.agents, catalogue.found)
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
    unknown = catalogue.locked or any(one.kind == "EvalFixture" for one in catalogue.broken)
    if selector is None and not evaluation.fixtures:
        message = f'The Eval "{evaluation.name}" selects no fixtures.'
        message += " Add fixtures or fixtureSelector."
        yield _problem(evaluation, "spec.fixtures", message)
    if selector is not None and not unknown and not catalogue.labelled(selector.match_labels):
        message = f"No fixture carries these labels: {quote(_shown(selector.match_labels))}."
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
    if judged and not judge.asked:
        others = f" and {len(judged) - 1} more" if len(judged) > 1 else ""
        message = (
            f'This Eval has no judge, but fixtures of it need one ("{judged[0]}"{others}). Add '
            "spec.judge.model."
        )
        yield _problem(evaluation, "spec.judge.model", message)
    if judge.scripts and any(
        is_sealed(one.path) and any(a.needs_judge for a in one.assertions) for one in selected
    ):
        message = (
            "The rules of a scripted judge come with a change, and its author could try words of a "
            "sealed rubric with them. Name a model here."
        )
        yield _problem(evaluation, "spec.judge.model", message)
    if judge.is_panel and not judge.allow_self:
        yield from _of_itself(evaluation, catalogue.agent(evaluation.target_agent))
    if judge.escalate is not None and judge.calibration is None:
        message = (
            "Whether the stronger judge mends what the first is unsure of, labels have to show. "
            "Name a JudgeCalibration in spec.judge.calibration."
        )
        yield _problem(evaluation, "spec.judge.escalate", message)
    calibration = judge.calibration
    if calibration and (message := _missing("JudgeCalibration", calibration, catalogue)):
        yield _problem(evaluation, "spec.judge.calibration", message)


def _of_itself(evaluation: Eval, agent: Agent | None) -> Iterator[Problem]:
    """A model that would judge itself."""
    own = set(agent.asked_models) if agent else set()
    for model in evaluation.judge.asked:
        if model in own:
            message = (
                f"{model} would judge its own answers, which models like more than others'. Name "
                "another, or say `allowSelf: true` in spec.judge."
            )
            yield _problem(evaluation, "spec.judge.models", message)


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


LABELS_SHOWN = 3
"""Selectors that are named to a fixture that nobody selects."""

Manifest = TypeVar("Manifest", Agent, Eval, Fixture, Calibration)


def check_catalogue(
    catalogue: Catalogue, tree: Tree, providers: frozenset[str]
) -> tuple[Problem, ...]:
    """Return what is wrong between the manifests, and between them and the files of `tree`.

    `providers` are the model providers that can be asked. What a broken suite alone would be is not
    there for anything else.
    """
    apart = catalogue.contained_problems
    sound = tuple(one for one in catalogue.broken if one.problem not in apart)
    catalogue = replace(catalogue, broken=sound) if apart else catalogue
    targets = {evaluation.target_agent for evaluation in catalogue.evals}
    problems = [
        *(*_doubles(catalogue.agents), *_doubles(catalogue.evals)),
        *(*_doubles(catalogue.fixtures), *_doubles(catalogue.calibrations)),
    ]
    for agent in catalogue.agents:
        targeted = agent.name in targets
        problems += agent_problems(agent, tree, targeted=targeted)
        if targeted:
            problems += agent_model_problems(agent, providers)
    for evaluation in catalogue.evals:
        selected = select_fixtures(evaluation, catalogue)
        problems += eval_problems(evaluation, selected, catalogue)
        problems += judge_model_problems(evaluation, providers)
        problems += embedding_model_problems(selected, providers)
    for fixture in catalogue.fixtures:
        if fixture.playground is not None or any(map(looks_at_state, fixture.assertions)):
            problems += playground_problems(fixture, tree)
    for broken in catalogue.broken:
        problems += reference_problems(broken, catalogue)
    return sort_problems(problems)


def warnings_of(catalogue: Catalogue) -> tuple[Problem, ...]:
    """Return what is allowed but hardly meant; of what is sealed, only where that is."""
    sealed = (
        "This is sealed, and the key is not here (GATEVAL_IDENTITY), so nothing in it was checked."
    )
    told = (
        _about_file(one.place.file, SEALED_WARNING) if is_sealed(one.place.file) else one
        for one in _hardly_meant(catalogue)
    )
    locked = sorted(catalogue.locked)
    return (*dict.fromkeys(told), *(_about_file(show_path(path), sealed) for path in locked))


def _about_file(file: str, message: str) -> Problem:
    return Problem(place=SourceLocation(file=file), message=message)


def _hardly_meant(catalogue: Catalogue) -> tuple[Problem, ...]:
    selected = {
        fixture.name
        for evaluation in catalogue.evals
        for fixture in select_fixtures(evaluation, catalogue)
    }
    return (
        *(
            Problem(
                place=agent.place,
                message=f'Every file of the repository counts as code of the Agent "{agent.name}", '
                "because it works in the root. Add spec.watch with those that matter.",
            )
            for agent in catalogue.agents
            if counts_whole_repository(agent)
        ),
        *(found for agent in catalogue.agents for found in meaningless_keys(agent)),
        *(found for one in catalogue.fixtures for found in misspelled_prompt(one)),
        *_untouched(catalogue),
        *(() if catalogue.locked else _unselected(catalogue, selected)),
        *decided_beforehand(catalogue),
        *unknown_tools(catalogue),
        *catalogue.passed_over,
        *_unsupported(catalogue),
    )


def _untouched(catalogue: Catalogue) -> Iterator[Problem]:
    """Yield the Evals whose agents can do nothing in the playgrounds of their fixtures."""
    played = any(fixture.playground is not None for fixture in catalogue.fixtures)
    for evaluation in catalogue.evals if played else ():
        agent = catalogue.agent(evaluation.target_agent)
        if agent is None or agent.starts_process:
            continue
        if any(one.playground is not None for one in select_fixtures(evaluation, catalogue)):
            yield Problem(
                place=evaluation.place,
                message=f'The Agent "{agent.name}" has no program and no MCP server, so nothing '
                "changes what is in the playgrounds of these fixtures.",
            )


def _unsupported(catalogue: Catalogue) -> Iterator[Problem]:
    """Yield the criteria of benchmarks that fail whatever happens, but for sealed ones."""
    shut = {
        fixture.name
        for evaluation in catalogue.evals
        if evaluation.sealed
        for fixture in select_fixtures(evaluation, catalogue)
    }
    for fixture in catalogue.fixtures:
        if fixture.name in shut or is_sealed(fixture.path):
            continue
        for spec in fixture.assertions:
            if spec.unsupported:
                message = f'The criterion {quote(spec.name)} of the task "{fixture.name}" fails, '
                message += f"whatever happens: {spec.unsupported}."
                yield Problem(place=spec.place, message=message)


def _unselected(catalogue: Catalogue, selected: Container[str]) -> Iterator[Problem]:
    """Yield the fixtures that never run; the cases of one file in one sentence."""
    told: set[str] = set()
    for fixture in catalogue.fixtures:
        if fixture.name in selected or fixture.family in told:
            continue
        cases = [one for one in catalogue.family(fixture.family) if one.name not in selected]
        if len(cases) < 2:
            message = f'No Eval selects the fixture "{fixture.name}", so it never runs.'
            message += _wanted_labels(fixture, catalogue)
        else:
            told.add(fixture.family)
            message = (
                f'No Eval selects {len(cases):,} cases of the fixture "{fixture.family}", so they '
                "never run."
            )
        yield Problem(place=fixture.place, message=message)


def _wanted_labels(fixture: Fixture, catalogue: Catalogue) -> str:
    """Say which labels the Evals of its Agent ask for; empty if that is not known."""
    wanted = {
        _shown(one.fixture_selector.match_labels)
        for one in catalogue.evals
        if one.fixture_selector
        and fixture.target_agent in {None, one.target_agent}
        and not is_sealed(one.path)
    }
    if not wanted or len(wanted) > LABELS_SHOWN:
        return ""
    has = quote(_shown(fixture.labels) or "none")
    return f" Its labels are {has}; Evals select {' or '.join(map(quote, sorted(wanted)))}."


def _shown(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in labels.items())


def _doubles(manifests: Sequence[Manifest]) -> Iterator[Problem]:
    first = by_name(manifests)
    for manifest in manifests:
        other = first[manifest.name]
        if manifest is not other:
            yield Problem(
                place=manifest.place,
                path="metadata.name",
                message=f'The {other.kind} "{manifest.name}" stands at {other.place} already. '
                "Rename or remove one of them.",
            )
