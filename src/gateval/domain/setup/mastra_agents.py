"""The agents and workflows that a Mastra has, and which agents need it: its storage, or what their
tools ask of it, are not there for an agent by itself. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from gateval.domain.setup.node_text import braced, parts, without_comments

_MASTRA = re.compile(r"^export const (\w+)\s*=\s*new Mastra\(\s*\{", re.M)
_GIVES = re.compile(r"\s*(?:storage|vectors|memory|workspace)\b")
_TOOL = re.compile(r"\bcreate(?:Tool|Step)\(")
_ASKED_BY_TOOL = re.compile(r"\bmastra\b[?!]?\.getAgent\(\s*[\"'](\w+)[\"']")
_ASKS_IT = re.compile(r"\bmastra\b[?!]?\.get[A-Z]\w*\(")
_KEY = re.compile(r"[\w$-]+")


class OfMastra(NamedTuple):
    """An agent or a workflow of a Mastra: the file and the name of that, its key there, and what a
    module calls it.
    """

    path: str
    mastra: str
    key: str
    agent: str

    @property
    def found(self) -> str:
        """What a bridge finds it by."""
        return f"{self.mastra}.{self.key}"


class Mastras:
    """The instances of Mastra that files export, with their agents."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        tools = [text for text in texts.values() if "create" in text and _TOOL.search(text)]
        self._helpers = {one for text in tools for one in _ASKED_BY_TOOL.findall(text)}
        self._asked = any(map(_ASKS_IT.search, tools))
        self._all = [one for path, text in texts.items() for one in _instances(path, text)]
        self._workflows = [
            one
            for path, text in texts.items()
            for workflows, _ in _instances(path, text, "workflows")
            for one in workflows
        ]

    def alone(self) -> Iterator[OfMastra]:
        """Yield the agent of each Mastra that has one."""
        yield from (agents[0] for agents, _ in self._all if len(agents) == 1)

    def first(self) -> set[str]:
        """Return the agents that a Mastra names first of several, but for those that its tools and
        workflows ask: others are often its helpers.
        """
        named = [[one.agent for one in agents] for agents, _ in self._all if agents]
        return {_first(one, self._helpers) for one in named}

    def through(self) -> dict[str, OfMastra]:
        """Return the agents that are asked through their Mastra, by what a module calls them."""
        return {
            one.agent: one
            for agents, gives in self._all
            for one in agents
            if len(agents) > 1 and (gives or self._asked) and _KEY.fullmatch(one.key)
        }

    def workflows(self) -> dict[str, OfMastra]:
        """Return the workflows of instances, by what a module calls them."""
        return {one.agent: one for one in self._workflows if _KEY.fullmatch(one.key)}


def _first(named: list[str], helpers: Container[str]) -> str:
    return next((one for one in named if one not in helpers), named[0])


def _instances(path: str, text: str, kind: str = "agents") -> Iterator[tuple[list[OfMastra], bool]]:
    """Yield the agents of each Mastra that a file exports, and whether it gives them something; or
    what else it has of a `kind`.
    """
    plain = without_comments(text) if "new Mastra(" in text else ""
    for made in _MASTRA.finditer(plain):
        given = list(parts(braced(plain, made.end())))
        begins = re.compile(rf"\s*{kind}\s*:\s*\{{")
        listed = next((one for one in given if begins.match(one)), "")
        named = listed.partition("{")[2].rpartition("}")[0]
        agents = []
        for one in filter(None, map(str.strip, parts(named))):
            key, _, value = one.partition(":")
            agent = (value or key).strip()
            agents.append(OfMastra(path, made[1], key.strip().strip("\"'`"), agent))
        yield agents, any(map(_GIVES.match, given))
