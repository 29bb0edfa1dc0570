"""Reads the MCP servers among the tools of a declarative agent."""

from __future__ import annotations

from gateval.domain.manifests.agent import MODEL_RUNTIME, RuntimeSpec
from gateval.domain.manifests.tools import AgentTool, ToolServerSpec
from gateval.domain.repository.place import Problem
from gateval.formats.native.written import Source
from gateval.formats.problems.validation import problem_at, validate


def with_servers(
    runtime: RuntimeSpec | None, tools: tuple[AgentTool, ...], source: Source
) -> tuple[RuntimeSpec | None, tuple[Problem, ...]]:
    """Return the runtime with the servers of these tools, and what is wrong with them.

    A program asks its own servers; only where the gate runs the agent does it start them.
    """
    entries = [(index, tool) for index, tool in enumerate(tools) if tool.is_server]
    if not entries or (runtime is not None and runtime.type != MODEL_RUNTIME):
        return runtime, ()
    servers: dict[str, ToolServerSpec] = {}
    problems: list[Problem] = []
    for index, _ in entries:
        path = ("spec", "tools", index)
        raw = source.document.data_at(path)
        server, wrong = validate(ToolServerSpec, raw, source.document, path)
        problems += wrong
        if server is not None and server.name in servers:
            message = "Another server has this name."
            problems.append(problem_at(source.document, (*path, "name"), message))
        elif server is not None:
            servers[server.name] = server
    enabled = tuple(one for one in servers.values() if one.enabled)
    if not enabled:
        return runtime, tuple(problems)
    known = runtime or RuntimeSpec()
    return known.model_copy(update={"servers": enabled}), tuple(problems)
