"""Assertions on tools that no agent has: what is never called can be forbidden for nothing.

Known are the tools of declarative Agents without MCP servers. What programs call is known when they
run, so nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.sealed import is_sealed
from gateval.domain.repository.place import Place, Problem, nearest
from gateval.domain.text.quoting import quote

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
    place: Place


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
