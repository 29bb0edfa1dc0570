"""Problems between the manifests of one revision, and warnings of odd but allowed ones."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Catalogue, by_name, select_fixtures
from gateval.domain.manifests.checks.agent import agent_problems, counts_whole_repository
from gateval.domain.manifests.checks.decided import decided_beforehand
from gateval.domain.manifests.checks.evals import eval_problems, reference_problems
from gateval.domain.manifests.checks.keys import meaningless_keys, misspelled_prompt
from gateval.domain.manifests.checks.models import (
    agent_model_problems,
    embedding_model_problems,
    judge_model_problems,
)
from gateval.domain.manifests.checks.playground import looks_at_state, playground_problems
from gateval.domain.manifests.checks.tools import unknown_tools
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.sealed import SEALED_WARNING, is_sealed
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem, sort_problems
from gateval.domain.repository.tree import Tree
from gateval.domain.text.quoting import quote

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
        *_doubles(catalogue.agents),
        *_doubles(catalogue.evals),
        *_doubles(catalogue.fixtures),
        *_doubles(catalogue.calibrations),
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
    return (
        *dict.fromkeys(map(_without_sealed_words, _hardly_meant(catalogue))),
        *(
            Problem(
                place=Place(file=show_path(path)),
                message="This is sealed, and the key is not here (GATEVAL_IDENTITY), so nothing in "
                "it was checked.",
            )
            for path in sorted(catalogue.locked)
        ),
    )


def _without_sealed_words(found: Problem) -> Problem:
    sealed = is_sealed(found.place.file)
    return Problem(place=found.place, message=SEALED_WARNING) if sealed else found


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
        ", ".join(f"{key}: {value}" for key, value in one.fixture_selector.match_labels.items())
        for one in catalogue.evals
        if one.fixture_selector
        and fixture.target_agent in {None, one.target_agent}
        and not is_sealed(one.path)
    }
    if not wanted or len(wanted) > LABELS_SHOWN:
        return ""
    has = ", ".join(f"{key}: {value}" for key, value in fixture.labels.items()) or "none"
    return f" Its labels are {quote(has)}; Evals select {' or '.join(map(quote, sorted(wanted)))}."


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
