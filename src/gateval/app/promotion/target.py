"""For which Agent a fixture is promoted, what its tools are, and where its fixtures live."""

from __future__ import annotations

from collections import Counter

from gateval.adapters.git import GitRepository
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.planning.files.inventory import inventory
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.promotion.proposal import PromotionTarget
from gateval.domain.repository.place import nearest
from gateval.errors import UsageError

_GATES_TOOLS = b"GATEVAL_MCP"
"""Stands in the files of a program that takes its tools from the gate."""

_FILE_LIMIT = 256 * 1024
"""Bytes of a file that is looked through for it."""


def sibling_folder(catalogue: Catalogue, agent: Agent) -> str:
    """Return the folder where most fixtures of an Agent are, or else its own."""
    selected = {
        fixture.folder
        for fixture in catalogue.fixtures
        if fixture.target_agent == agent.name or fixture.labels.get("agent") == agent.name
    }
    counts = Counter(f.folder for f in catalogue.fixtures if f.folder in selected)
    return counts.most_common(1)[0][0] if counts else agent.folder


def chosen_agent(catalogue: Catalogue, named: str | None) -> Agent:
    """Return the Agent of this name, or the only one. Raises `UsageError` without it."""
    known = [one.name for one in catalogue.agents]
    if named is None and len(known) == 1:
        return catalogue.agents[0]
    found = catalogue.agent(named) if named else None
    if found is None:
        what = (
            f'There is no Agent "{named}" here.{nearest(named, known)}'
            if named
            else ("There are several Agents here." if known else "There is no Agent here.")
        )
        hint = f"Name one with --agent: {', '.join(sorted(known)[:20])}." if known else ""
        raise UsageError(what, hint=hint)
    return found


def target_of(repository: GitRepository, snapshot: Snapshot, agent: Agent) -> PromotionTarget:
    """The Agent with its tools; a program's are replayed only if it takes them from the gate."""
    offered = tuple(tool.tool_name for tool in agent.spec.tools if tool.enabled)
    if agent.runtime_type == MODEL_RUNTIME:
        if agent.spec.runtime is not None and agent.spec.runtime.servers:
            # what these offer, they say when asked
            return PromotionTarget(agent=agent.name, replayed=None)
        return PromotionTarget(agent=agent.name, offered=offered, replayed=offered)
    takes = bool(offered) and _takes_tools(repository, snapshot, agent)
    return PromotionTarget(agent=agent.name, replayed=offered if takes else ())


def _takes_tools(repository: GitRepository, snapshot: Snapshot, agent: Agent) -> bool:
    """Whether a program asks the gate for its tools: its manifest or its files say so."""
    if agent.spec.runtime is not None and "{mcp." in agent.spec.runtime.model_dump_json():
        return True
    oids = [one.oid for one in inventory(agent, snapshot).files if one.kind == "file"]
    contents = repository.blobs(oids, limit=_FILE_LIMIT).values()
    return any(_GATES_TOOLS in data for data in contents if data)
