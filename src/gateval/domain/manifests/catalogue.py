"""All manifests of one revision together, and what only shows when they are together.

Models by which assertions measure likeness: part of the test, as a judge is.

A scripted one stands in a file, whose digest counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

from gateval.domain.base import digest, known_of_last
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.evaluation import (
    SCRIPTED_PROVIDER,
    Calibration,
    Eval,
    ScriptedModel,
    script_name,
)
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import string_of

Manifest = TypeVar("Manifest", Agent, Eval, Fixture, Calibration)


class ManifestReference(NamedTuple):
    """A manifest that another one names: its kind and name, and where that stands."""

    kind: str
    name: str
    path: str
    place: SourceLocation


class Broken(NamedTuple):
    """Something that is or may be a manifest and cannot be used; `problem` is why.

    `kind` and `name` are empty where not even these can be read, `agent` (the Agent that it says it
    is for) too; `labels` is None then. `references` are what else it names and how.
    """

    problem: Problem
    kind: str = ""
    name: str = ""
    agent: str = ""
    labels: Mapping[str, str] | None = None
    references: tuple[ManifestReference, ...] = ()

    def may_hold(self, names: Iterable[str]) -> bool:
        """Whether one of these names may be that of a case of this fixture."""
        own = f"{self.name}-"
        return self.kind == "EvalFixture" and any(name.startswith(own) for name in names)


class Contained(NamedTuple):
    """What is wrong with a suite of another format: its own cases are not measured, all others are.

    `files` are those that it was read from, `agents` those that it may be for. With `folder`, one
    of these cannot be told, and what it depends on lies there; "" is the root.
    """

    problems: tuple[Problem, ...]
    files: frozenset[str]
    agents: tuple[Agent, ...] = ()
    folder: str | None = None


@dataclass(frozen=True)
class Catalogue:
    """The manifests of one revision. Of several with one name, the first is found by it.

    `broken` holds the manifests that are there but cannot be used: nobody is told that they do not
    exist. `filled` holds, by the name of an Eval, the fixtures that its `vars` fill in; in
    `fixtures` these are as another Eval has them, or not filled in. `locked` are the sealed files
    for which there is no key: Evals and fixtures may be in them. `passed_over` tells which files
    look like manifests of a format, and were not read; `contained` what is wrong with suites, whose
    Agents need not be in `agents`. `found` are those that other tools' files define, which are in
    `agents` only where an Eval targets them; `unusable` says why some of them cannot be started.
    """

    agents: tuple[Agent, ...] = ()
    evals: tuple[Eval, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    broken: tuple[Broken, ...] = ()
    filled: Mapping[str, Mapping[str, Fixture]] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()
    passed_over: tuple[Problem, ...] = ()
    contained: tuple[Contained, ...] = ()
    found: tuple[Agent, ...] = ()
    unusable: tuple[Broken, ...] = ()

    @cached_property
    def contained_problems(self) -> frozenset[Problem]:
        """All that is wrong with suites, and concerns their own cases alone."""
        return frozenset(problem for one in self.contained for problem in one.problems)

    @property
    def broken_files(self) -> frozenset[str]:
        """The files of broken suites."""
        return frozenset(path for one in self.contained for path in one.files)

    def with_agents(self, names: Iterable[str] | None = None) -> Catalogue:
        """Return it with the Agents of broken suites, and those of other tools' files, that have
        these names; without names, with all of broken suites.
        """
        spare = {agent.name: agent for one in self.contained for agent in one.agents}
        wanted = {*spare}
        if names is not None:
            without = {one.name for one in self.unusable}
            spare |= {one.name: one for one in self.found if one.name not in without}
            wanted = spare.keys() & {*names}
        added = [spare[name] for name in sorted(wanted) if self.agent(name) is None]
        return replace(self, agents=(*self.agents, *added)) if added else self

    @property
    def untargeted(self) -> tuple[Agent, ...]:
        """The Agents of other tools' files that no Eval targets, startable or not, by name."""
        names = sorted({one.name for one in self.found} - self._agents.keys())
        first = by_name(self.found)
        return tuple(first[name] for name in names)

    @property
    def needed_problems(self) -> tuple[Problem, ...]:
        """Why Agents of other tools' files cannot be started that Evals target."""
        targets = {one.target_agent for one in self.evals if self.agent(one.target_agent) is None}
        return tuple(one.problem for one in self.unusable if one.name in targets)

    def is_broken(self, kind: str, name: str) -> bool:
        """Whether a manifest of this kind and name is there, or may be, but cannot be used."""
        cases = (name,) if kind == "EvalFixture" else ()
        return bool(self.locked and cases) or any(
            (one.kind, one.name) == (kind, name) or one.may_hold(cases)
            for one in (*self.broken, *self.unusable)
        )

    def agent(self, name: str) -> Agent | None:
        """The Agent of this name."""
        return self._agents.get(name)

    def eval(self, name: str) -> Eval | None:
        """The Eval of this name."""
        return self._evals.get(name)

    def fixture(self, name: str) -> Fixture | None:
        """The EvalFixture of this name."""
        return self._fixtures.get(name)

    def fixture_of(self, evaluation: str, name: str) -> Fixture | None:
        """The EvalFixture of this name, filled in as the Eval of that name has it."""
        return self.filled.get(evaluation, {}).get(name) or self.fixture(name)

    def family(self, name: str) -> Sequence[Fixture]:
        """The fixtures that the cases of this template give; none if it has no cases."""
        return self._families.get(name, ())

    def calibration(self, name: str) -> Calibration | None:
        """The JudgeCalibration of this name."""
        return self._calibrations.get(name)

    def selection(self, evaluation: Eval) -> tuple[Fixture, ...]:
        """What `select_fixtures` returns of it, made once for each Eval."""
        known = self._selections.get(id(evaluation))
        if known is None:
            known = (evaluation, tuple(_selected(evaluation, self)))
            self._selections[id(evaluation)] = known  # held, so that no other gets its id
        return known[1]

    @cached_property
    def _selections(self) -> dict[int, tuple[Eval, tuple[Fixture, ...]]]:
        return {}

    def labelled(self, labels: Mapping[str, str]) -> tuple[Fixture, ...]:
        """The fixtures that carry all of these labels; none for no labels."""
        candidates = [self._by_label.get(label, ()) for label in labels.items()]
        fewest = min(candidates, key=len, default=())
        return tuple(one for one in fewest if labels.items() <= one.labels.items())

    @cached_property
    def _agents(self) -> Mapping[str, Agent]:
        return by_name(self.agents)

    @cached_property
    def _evals(self) -> Mapping[str, Eval]:
        return by_name(self.evals)

    @cached_property
    def _fixtures(self) -> Mapping[str, Fixture]:
        return by_name(self.fixtures)

    @cached_property
    def _families(self) -> Mapping[str, Sequence[Fixture]]:
        found: dict[str, list[Fixture]] = {}
        for fixture in self._fixtures.values():
            if fixture.family:
                found.setdefault(fixture.family, []).append(fixture)
        return found

    @cached_property
    def _calibrations(self) -> Mapping[str, Calibration]:
        return by_name(self.calibrations)

    @cached_property
    def _by_label(self) -> Mapping[tuple[str, str], Sequence[Fixture]]:
        found: dict[tuple[str, str], list[Fixture]] = {}
        for fixture in self._fixtures.values():
            for label in fixture.labels.items():
                found.setdefault(label, []).append(fixture)
        return found


def select_fixtures(evaluation: Eval, catalogue: Catalogue) -> tuple[Fixture, ...]:
    """Return the fixtures that the Eval's selector or list names, each once, ordered by name.

    The name of a template with cases stands for all of them. Those with vars have the Eval's own.
    """
    return catalogue.selection(evaluation)


def _selected(evaluation: Eval, catalogue: Catalogue) -> Iterator[Fixture]:
    selector = evaluation.fixture_selector
    chosen = (
        {one.name: one for one in catalogue.labelled(selector.match_labels)} if selector else {}
    )
    for name in evaluation.fixtures:
        if (fixture := catalogue.fixture(name)) is not None:
            chosen[name] = fixture
        chosen |= {one.name: one for one in catalogue.family(name)}
    filled = catalogue.filled.get(evaluation.name)
    if filled:
        chosen = {name: filled.get(name, fixture) for name, fixture in chosen.items()}
    return (chosen[name] for name in sorted(chosen))


def by_name(manifests: Sequence[Manifest]) -> Mapping[str, Manifest]:
    """Return the manifests by name; of several with one name, the first."""
    return {manifest.name: manifest for manifest in reversed(manifests)}


def scripted_names(agent: Agent) -> tuple[str, ...]:
    """Return the names of the scripted models that the Agent may ask."""
    return tuple(name for name in map(script_name, agent.asked_models) if name is not None)


EMBEDDED, MODEL = "similar", "model"
"""The assertion that may ask a model for embeddings, and the option that names the model."""

_SCRIPTED = f"{SCRIPTED_PROVIDER}/"


def embedding_model(spec: AssertionSpec) -> str:
    """Return the model (`provider/model-id`) that an assertion itself asks; empty for none."""
    return string_of(spec.options.get(MODEL) if spec.type == EMBEDDED else None)


def embedded(fixture: Fixture) -> Iterator[tuple[AssertionSpec, str]]:
    """Yield the assertions of a fixture that ask a model for embeddings, and that model."""
    for outer in fixture.assertions:
        if outer.type != EMBEDDED and not outer.parts:
            continue
        for spec in outer.within():
            if model := embedding_model(spec):
                yield spec, model


@known_of_last
def embedding_models(fixtures: Iterable[Fixture]) -> dict[str, AssertionSpec]:
    """Return the models that assertions ask for embeddings, each with the first that does."""
    found: dict[str, AssertionSpec] = {}
    for fixture in fixtures:
        for outer in fixture.assertions:
            if outer.type == EMBEDDED or outer.parts:  # few are: the others are only passed over
                for spec in outer.within():
                    if model := embedding_model(spec):
                        found.setdefault(model, spec)
    return found


def embedding_scripts(fixtures: Iterable[Fixture]) -> dict[str, AssertionSpec]:
    """Return the names of the scripted ones among them."""
    return {
        model.removeprefix(_SCRIPTED): spec
        for model, spec in embedding_models(fixtures).items()
        if model.startswith(_SCRIPTED)
    }


def with_scripts(catalogue: Catalogue, scripts: Mapping[str, ScriptedModel]) -> Catalogue:
    """Return the catalogue with the digests of the scripts that its fixtures are measured by."""

    def known(spec: AssertionSpec) -> AssertionSpec:
        script = scripts.get(embedding_model(spec).removeprefix(_SCRIPTED))
        return spec.replace(script=script.digest) if script else spec

    def filled(fixture: Fixture) -> Fixture:
        if not any(model.startswith(_SCRIPTED) for _, model in embedded(fixture)):
            return fixture
        found = _mapped(fixture, known)
        digests = [spec.script for spec, _ in embedded(found)]
        return found.replace(digest=digest([found.digest, *digests]))

    return replace(
        catalogue,
        fixtures=tuple(map(filled, catalogue.fixtures)),
        filled={
            name: {one: filled(fixture) for one, fixture in named.items()}
            for name, named in catalogue.filled.items()
        },
    )


def with_script_names(fixture: Fixture, names: Mapping[str, str]) -> Fixture:
    """Return the fixture with other names for the scripts that it is measured by."""

    def renamed(spec: AssertionSpec) -> AssertionSpec:
        name = embedding_model(spec).removeprefix(_SCRIPTED)
        if name not in names or not embedding_model(spec).startswith(_SCRIPTED):
            return spec
        options = {**spec.options, MODEL: f"{_SCRIPTED}{names[name]}"}
        return spec.replace(options=options)

    return _mapped(fixture, renamed) if names and any(embedded(fixture)) else fixture


def _mapped(fixture: Fixture, give: Callable[[AssertionSpec], AssertionSpec]) -> Fixture:
    def each(spec: AssertionSpec) -> AssertionSpec:
        inner = tuple(map(each, spec.parts))
        return give(spec.replace(parts=inner) if inner else spec)

    return fixture.replace(assertions=tuple(map(each, fixture.assertions)))
