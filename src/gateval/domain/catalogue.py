"""All manifests of one revision together, and what only shows when they are together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from gateval.domain.agent_checks import agent_problems, counts_whole_repository
from gateval.domain.eval_checks import eval_problems
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.paths import resolve_path
from gateval.domain.place import Problem, sort_problems
from gateval.domain.tree import Tree

__all__ = ["Catalogue", "check_catalogue", "resolve_path", "select_fixtures", "warnings_of"]

Manifest = TypeVar("Manifest", Agent, Eval, Fixture, Calibration)


@dataclass(frozen=True)
class Catalogue:
    """The manifests of one revision. Of several with one name, the first is found by it.

    `broken` holds kind and name of manifests that are there but cannot be used: nobody is told
    that they do not exist.
    """

    agents: tuple[Agent, ...] = ()
    evals: tuple[Eval, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    broken: frozenset[tuple[str, str]] = frozenset()

    def agent(self, name: str) -> Agent | None:
        """The Agent of this name."""
        return self._agents.get(name)

    def eval(self, name: str) -> Eval | None:
        """The Eval of this name."""
        return self._evals.get(name)

    def fixture(self, name: str) -> Fixture | None:
        """The EvalFixture of this name."""
        return self._fixtures.get(name)

    def calibration(self, name: str) -> Calibration | None:
        """The JudgeCalibration of this name."""
        return self._calibrations.get(name)

    def labelled(self, labels: Mapping[str, str]) -> tuple[Fixture, ...]:
        """The fixtures that carry all of these labels; none for no labels."""
        candidates = [self._by_label.get(label, ()) for label in labels.items()]
        fewest = min(candidates, key=len, default=())
        return tuple(one for one in fewest if labels.items() <= one.labels.items())

    @cached_property
    def _agents(self) -> Mapping[str, Agent]:
        return _by_name(self.agents)

    @cached_property
    def _evals(self) -> Mapping[str, Eval]:
        return _by_name(self.evals)

    @cached_property
    def _fixtures(self) -> Mapping[str, Fixture]:
        return _by_name(self.fixtures)

    @cached_property
    def _calibrations(self) -> Mapping[str, Calibration]:
        return _by_name(self.calibrations)

    @cached_property
    def _by_label(self) -> Mapping[tuple[str, str], Sequence[Fixture]]:
        found: dict[tuple[str, str], list[Fixture]] = {}
        for fixture in self._fixtures.values():
            for label in fixture.labels.items():
                found.setdefault(label, []).append(fixture)
        return found


def select_fixtures(evaluation: Eval, catalogue: Catalogue) -> tuple[Fixture, ...]:
    """Return the fixtures that the Eval's selector or list names, each once, ordered by name."""
    selector = evaluation.fixture_selector
    chosen = (
        {one.name: one for one in catalogue.labelled(selector.match_labels)} if selector else {}
    )
    for name in evaluation.fixtures:
        if (fixture := catalogue.fixture(name)) is not None:
            chosen[name] = fixture
    return tuple(chosen[name] for name in sorted(chosen))


def check_catalogue(catalogue: Catalogue, tree: Tree) -> tuple[Problem, ...]:
    """Return what is wrong between the manifests, and between them and the files of `tree`."""
    targets = {evaluation.target_agent for evaluation in catalogue.evals}
    problems = [
        *_doubles("Agent", catalogue.agents),
        *_doubles("Eval", catalogue.evals),
        *_doubles("EvalFixture", catalogue.fixtures),
        *_doubles("JudgeCalibration", catalogue.calibrations),
    ]
    for agent in catalogue.agents:
        problems += agent_problems(agent, tree, targeted=agent.name in targets)
    for evaluation in catalogue.evals:
        selected = select_fixtures(evaluation, catalogue)
        problems += eval_problems(evaluation, selected, catalogue)
    return sort_problems(problems)


def warnings_of(catalogue: Catalogue) -> tuple[str, ...]:
    """Return what is allowed but hardly meant, as sentences that begin with the place."""
    selected = {
        fixture.name
        for evaluation in catalogue.evals
        for fixture in select_fixtures(evaluation, catalogue)
    }
    return (
        *(
            f"{agent.place}: every file of the repository counts as code of the Agent "
            f'"{agent.name}", because it works in the root. Add spec.watch with those that matter.'
            for agent in catalogue.agents
            if counts_whole_repository(agent)
        ),
        *(
            f'{fixture.place}: no Eval selects the fixture "{fixture.name}", so it never runs.'
            for fixture in catalogue.fixtures
            if fixture.name not in selected
        ),
    )


def _by_name(manifests: Sequence[Manifest]) -> Mapping[str, Manifest]:
    return {manifest.name: manifest for manifest in reversed(manifests)}


def _doubles(kind: str, manifests: Sequence[Manifest]) -> Iterator[Problem]:
    first = _by_name(manifests)
    for manifest in manifests:
        if manifest is not first[manifest.name]:
            yield Problem(
                place=manifest.place,
                path="metadata.name",
                message=f'The {kind} "{manifest.name}" stands at {first[manifest.name].place} '
                "already. Rename or remove one of them.",
            )
