"""What can be wrong with fixtures beyond their shape: playgrounds, tools, models, certain
outcomes.

Known are the tools of declarative Agents without MCP servers. What programs call is known when they
run, so nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue, embedding_models, select_fixtures
from gateval.domain.manifests.evaluation import Eval, is_sealed
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.playground import PlaygroundSpec, references
from gateval.domain.paths import (
    folder_of,
    has_wildcard,
    match_any,
    nearest,
    resolve_pattern,
    show_path,
)
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.text import quote
from gateval.domain.tree import Tree, has_folder, under

STATE_CHECKS = frozenset({
    "fileExists", "fileEquals", "fileMatches", "fileJson", "directoryListing",
    "environmentVariable", "commandResult", "httpResponse", "sqlQuery",
})  # fmt: skip
"""The assertions that look at a playground's end state."""

_PRIVATE = ("HOME", "TMPDIR", "PATH")


def looks_at_state(assertion: AssertionSpec) -> bool:
    """Whether an assertion, or one inside it, looks at a playground's end state."""
    if not assertion.parts:
        return assertion.type in STATE_CHECKS
    return any(one.type in STATE_CHECKS for one in assertion.within())


def playground_problems(fixture: Fixture, tree: Tree) -> Iterator[Problem]:
    """Yield what is wrong with the playground of a fixture, and with checks on its end state."""
    spec = fixture.playground
    if spec is not None:
        for key, message in _wrong(spec, fixture, tree):
            place = fixture.places.get("spec.playground", fixture.place)
            yield Problem(place=place, path=f"spec.playground.{key}", message=message)
    for assertion in (one for each in fixture.assertions for one in each.within()):
        if assertion.type in STATE_CHECKS:
            yield from _blind(assertion, spec)
    for assertion in fixture.assertions:
        if assertion.turn is not None and looks_at_state(assertion):
            message = "The end state is looked at after the last turn: of the whole, not of a turn."
            yield Problem(place=assertion.place, message=message)


def _blind(assertion: AssertionSpec, spec: PlaygroundSpec | None) -> Iterator[Problem]:
    """An assertion that has nothing to look at."""
    if spec is None:
        message = f"`{assertion.type}` looks at a playground. Add spec.playground, `{{}}` at least."
        yield Problem(place=assertion.place, message=message)
        return
    named, known = assertion.options.get("service"), [one.name for one in spec.services]
    if isinstance(named, str) and named not in known:
        message = f"The playground has no service {quote(named)}.{nearest(named, known)}"
        yield Problem(place=assertion.place, message=message)


def _wrong(spec: PlaygroundSpec, fixture: Fixture, tree: Tree) -> Iterator[tuple[str, str]]:
    folder = fixture.folder
    for key, written, path in spec.own_sources(folder):
        if path is None:
            yield key, f"{quote(written)} leads out of the repository."
        elif under(folder, {path}):
            said = (
                f"{quote(written)} holds the manifest itself. Give the playground a folder of its "
                "own, as agents get it in its trials alone."
            )
            yield key, said
        elif not _is_there(key, path, tree):
            kind = "file" if key == "sqlite.source" else "folder with files"
            yield key, f"{show_path(path)} is no {kind} of this revision. Correct it, or track it."
    for index, written in enumerate(spec.files):
        path = resolve_pattern(folder, written)
        if path is None:
            yield f"files[{index}]", f"{quote(written)} leads out of the repository."
        elif not _matches(path, tree):
            yield f"files[{index}]", f"{quote(written)} matches no file of this revision."
    yield from _services(spec)
    for name in spec.env:
        if name.upper() in _PRIVATE or name.upper().startswith("GATEVAL_"):
            yield f"env.{name}", f"{name} is set by the gate. Choose another name."


def _is_there(key: str, path: str, tree: Tree) -> bool:
    if key == "sqlite.source":
        return path in tree and tree[path].is_file
    return path not in tree and has_folder(tree, path)


def _matches(path: str, tree: Tree) -> bool:
    if not has_wildcard(path):
        return path in tree or has_folder(tree, path)
    start = folder_of(path)
    matches = match_any([path])
    return any(matches(one) for one in tree if not start or one.startswith(f"{start}/"))


def _services(spec: PlaygroundSpec) -> Iterator[tuple[str, str]]:
    known: list[str] = []
    for index, service in enumerate(spec.services):
        if service.name in known:
            message = f"The service {quote(service.name)} stands here twice."
            yield f"services[{index}].name", message
        for text in (*service.command, *service.env.values()):
            for name, _ in references(text):
                if name not in known:
                    hint = nearest(name, known)
                    message = f"There is no service {quote(name)} before this one.{hint}"
                    yield f"services[{index}]", message
        known.append(service.name)


_ASKED = {
    "toolCalled": ("tool", "after"),
    "toolArguments": ("tool",),
    "toolSequence": ("tools",),
    "toolNotCalled": ("before",),
}
"""Where assertions name tools whose call they ask for."""

_FORBIDDEN = {"toolNotCalled": ("tool", "after"), "toolCalled": ("before",)}
"""Where they name tools of which they forbid a call, or forbid others behind it."""


class NamedTool(NamedTuple):
    """A tool that an assertion names; `idle` says that the assertion holds if it is not called."""

    name: str
    type: str
    idle: bool
    place: SourceLocation


def known_tools(agent: Agent | None) -> frozenset[str] | None:
    """Return the tools of an Agent, also those that are not enabled; None if they are not known."""
    if agent is None or agent.runtime_type != "model" or agent.starts_process:
        return None
    if any(tool.is_server for tool in agent.spec.tools):
        return None
    return frozenset(tool.tool_name for tool in agent.spec.tools if tool.tool_name)


def named_tools(fixture: Fixture) -> Iterator[NamedTool]:
    """Yield the tools that the assertions of a fixture name, those inside others too."""
    for spec in fixture.assertions:
        yield from _named(spec, negated=False)


def _named(spec: AssertionSpec, *, negated: bool) -> Iterator[NamedTool]:
    for table, idle in ((_ASKED, negated), (_FORBIDDEN, not negated)):
        for key in table.get(spec.type, ()):
            for name in _texts(spec.options.get(key)):
                if "{{" not in name:
                    yield NamedTool(name, spec.type, idle, spec.place)
    for part in spec.parts:
        yield from _named(part, negated=negated is not (spec.type == "not"))


def _texts(value: object) -> Iterator[str]:
    yield from (one for one in (value if isinstance(value, list) else [value]) if type(one) is str)


def unknown_tools(catalogue: Catalogue) -> Iterator[Problem]:
    """Yield, for each assertion, the tools that it names and none of its fixture's Agents has."""
    tools = {agent.name: known_tools(agent) for agent in catalogue.agents}
    if all(one is None for one in tools.values()):
        return
    asked: dict[str, list[tuple[str, Fixture]]] = {}
    for evaluation in catalogue.evals:
        for fixture in select_fixtures(evaluation, catalogue):
            if not evaluation.sealed or is_sealed(fixture.path):
                asked.setdefault(fixture.name, []).append((evaluation.target_agent, fixture))
    told: dict[Problem, None] = {}
    for uses in asked.values():
        agents = sorted({agent for agent, _ in uses})
        known = [tools.get(agent) for agent in agents]
        if None not in known:
            every = frozenset[str]().union(*(one or () for one in known))
            told |= dict.fromkeys(_unknown((one for _, one in uses), agents, every))
    yield from told


def _unknown(
    fixtures: Iterable[Fixture], agents: list[str], known: frozenset[str]
) -> Iterator[Problem]:
    whose = f'The Agent "{agents[0]}"' if len(agents) == 1 else "No Agent that is asked this"
    has = "has no" if len(agents) == 1 else "has a"
    for fixture in fixtures:
        for one in named_tools(fixture):
            if one.name not in known:
                effect = f", and this part of `{one.type}` checks nothing." if one.idle else "."
                yield Problem(
                    place=one.place,
                    message=f"{whose} {has} tool {quote(one.name)}, so it is never called{effect}"
                    + nearest(one.name, sorted(known))
                    + (_GUARD if one.idle else ""),
                )


_GUARD = " Name one that the agent must not use among its tools, with `enabled: false`."


def decided_beforehand(catalogue: Catalogue) -> Iterator[Problem]:
    """Yield assertions that limit nothing, Evals that every score passes, and fixtures in which
    nothing has weight.
    """
    for fixture in catalogue.fixtures:
        for one in fixture.assertions:
            for spec in one.within():
                if spec.type == "latency" and "maxSeconds" not in spec.options:
                    message = "`latency` without `maxSeconds` limits nothing; it always passes."
                    yield Problem(place=spec.place, message=message)
    for evaluation in catalogue.evals:
        written = evaluation.scoring.model.usual_threshold > 0  # else it asks for none
        if written and evaluation.scoring.graded and evaluation.scoring.pass_score == 0:
            place = evaluation.places.get("spec.scoring.passScore", evaluation.place)
            message = (
                f'Every trial of the Eval "{evaluation.name}" passes, because a score of 0 is '
                "enough. Ask for more."
            )
            yield Problem(place=place, message=message)
    yield from dict.fromkeys(
        problem for one in catalogue.evals for problem in _weightless(one, catalogue)
    )


def _weightless(evaluation: Eval, catalogue: Catalogue) -> Iterator[Problem]:
    if not evaluation.scoring.graded:
        return
    for fixture in select_fixtures(evaluation, catalogue):
        if fixture.assertions and not any(spec.weight for spec in fixture.assertions):
            message = (
                f'Nothing in the fixture "{fixture.name}" has weight, so it scores 0 whatever '
                "happens. Give one of its assertions a weight."
            )
            yield Problem(place=fixture.place, message=message)


def agent_model_problems(agent: Agent, providers: frozenset[str]) -> Iterator[Problem]:
    """Yield the models of an Agent whose provider is none of `providers`."""
    for key, models in (("spec.models", agent.spec.models), ("spec.uses", agent.spec.uses)):
        for index, model in enumerate(models):
            path = f"{key}[{index}]"
            place = agent.places.get(path) or agent.places.get(key) or agent.place
            for message in _unknown_model(model, providers):
                yield Problem(place=place, path=path, message=message)


def judge_model_problems(evaluation: Eval, providers: frozenset[str]) -> Iterator[Problem]:
    """Yield the models of the Eval's judge whose provider is none of `providers`."""
    path = "spec.judge.models" if evaluation.judge.models else "spec.judge.model"
    place = evaluation.places.get(path) or evaluation.place
    for model in evaluation.judge.asked:
        for message in _unknown_model(model, providers):
            yield Problem(place=place, path=path, message=message)


def embedding_model_problems(
    fixtures: Iterable[Fixture], providers: frozenset[str]
) -> Iterator[Problem]:
    """Yield the models by which fixtures are measured whose provider is none of `providers`."""
    for model, spec in embedding_models(fixtures).items():
        for message in _unknown_model(model, providers):
            yield Problem(place=spec.place, message=message)


def _unknown_model(model: str, providers: frozenset[str]) -> Iterator[str]:
    provider, slash, _ = model.partition("/")
    if slash and provider not in providers:
        near = nearest(provider, sorted(providers)) or f" Known: {', '.join(sorted(providers))}."
        yield f"{quote(model)} names the unknown provider {quote(provider)}.{near}"
