"""What can be wrong with an Agent beyond its shape: files, tools, its start, what runs beside."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateval.domain.base import MODEL_NAME_PATTERN
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent, ConversationMode, RuntimeSpec
from gateval.domain.manifests.checks.files import file_problems, problem_in
from gateval.domain.manifests.checks.keys import key_problems
from gateval.domain.manifests.fixtures.services import (
    HOST,
    PORT,
    TOOLS_COMMAND,
    TOOLS_URL,
    references,
)
from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.place import Problem, nearest
from gateval.domain.repository.tree import Tree
from gateval.domain.text.quoting import quote

COMMAND_RUNTIME = "command"
_MODEL_NAME = re.compile(MODEL_NAME_PATTERN)


def agent_problems(agent: Agent, tree: Tree, *, targeted: bool) -> Iterator[Problem]:
    """Yield what is wrong with an Agent. `targeted`: whether an Eval targets it."""
    yield from key_problems(agent)
    yield from _model_problems(agent, targeted=targeted)
    yield from _tool_problems(agent)
    yield from _runtime_problems(agent)
    yield from file_problems(agent, tree)


def counts_whole_repository(agent: Agent) -> bool:
    """Whether every tracked file belongs to the Agent's closure, and nobody said so."""
    runtime = agent.spec.runtime
    if runtime is None or not runtime.starts_process or agent.spec.watch is not None:
        return False
    return resolve_path(agent.folder, runtime.own_cwd) == ""


def _model_problems(agent: Agent, *, targeted: bool) -> Iterator[Problem]:
    """A declarative Agent needs models. One with a `spec.type` may be no template, but a service or
    a task, which nobody starts here unless an Eval targets it.
    """
    if agent.runtime_type != MODEL_RUNTIME:
        return
    declared = agent.spec.model_extra or {}
    if not agent.spec.models and (targeted or "type" not in declared):
        yield problem_in(
            agent,
            "spec.models",
            f'The Agent "{agent.name}" names no model. Add spec.models, or a spec.runtime that '
            "starts it.",
        )
    for index, model in enumerate(agent.spec.models):
        if not _MODEL_NAME.fullmatch(model):
            message = f'{quote(model)} names no provider. Write "provider/model-id".'
            yield problem_in(agent, f"spec.models[{index}]", message)


def _tool_problems(agent: Agent) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, tool in enumerate(agent.spec.tools):
        where = f"spec.tools[{index}]"
        if not tool.tool_name:
            yield problem_in(agent, where, "This tool has no name. Add `name`.")
        elif tool.tool_name in seen:
            yield problem_in(agent, where, f"The tool {quote(tool.tool_name)} stands here twice.")
        seen.add(tool.tool_name)


def _runtime_problems(agent: Agent) -> Iterator[Problem]:
    runtime = agent.spec.runtime
    if runtime is None:
        return
    response = runtime.options.get("response")
    if (
        runtime.conversation is ConversationMode.PROCESS
        and isinstance(response, dict)
        and "file" in response
    ):
        message = "A process that goes on prints its answers: a line in each turn, and no file."
        yield problem_in(agent, "spec.runtime.response", message)
    if runtime.conversation is not ConversationMode.PROCESS and runtime.options.get("greeting"):
        message = "Only a process that goes on has a greeting: add `conversation: process`."
        yield problem_in(agent, "spec.runtime.greeting", message)
    yield from _beside_problems(agent, runtime)
    if runtime.type == MODEL_RUNTIME:
        of_servers = ("setup", "cwd", "env") if runtime.servers else ()
        for key in ("command", "setup", "cwd", "env", "before", "after", "services"):
            if getattr(runtime, key) and key not in of_servers:
                message = (
                    f"A runtime of type {MODEL_RUNTIME} starts no process. Add "
                    f"`type: {COMMAND_RUNTIME}`, or remove this."
                )
                yield problem_in(agent, f"spec.runtime.{key}", message)


def _beside_problems(agent: Agent, runtime: RuntimeSpec) -> Iterator[Problem]:
    """Yield what is wrong with services, and with texts that name them."""
    known: list[str] = []
    for index, service in enumerate(runtime.services):
        where = f"spec.runtime.services[{index}]"
        if service.name in known:
            message = f"The service {quote(service.name)} stands here twice."
            yield problem_in(agent, f"{where}.name", message)
        texts = [*enumerate(service.command)]
        yield from _unknown(agent, f"{where}.command", texts, known, later=True)
        yield from _unknown(agent, f"{where}.env", [*service.env.items()], known, later=True)
        known.append(service.name)
    for key, words in (
        ("command", runtime.command), ("before", runtime.before), ("after", runtime.after)
    ):  # fmt: skip
        yield from _unknown(agent, f"spec.runtime.{key}", [*enumerate(words)], known)
    yield from _unknown(agent, "spec.runtime.env", [*runtime.env.items()], known)
    for name, text in runtime.env.items():
        for word in (TOOLS_URL, TOOLS_COMMAND):
            if word in text and not any(tool.enabled for tool in agent.spec.tools):
                message = f"{quote(word)} leads to the tools in spec.tools, and there are none."
                yield problem_in(agent, f"spec.runtime.env.{name}", message)


def _unknown(
    agent: Agent,
    where: str,
    texts: list[tuple[int, str]] | list[tuple[str, str]],
    known: list[str],
    *,
    later: bool = False,
) -> Iterator[Problem]:
    for key, text in texts:
        path = f"{where}[{key}]" if isinstance(key, int) else f"{where}.{key}"
        for name, part in references(text):
            if name not in known:
                so_far = " before this one" if later else ""
                message = f"There is no service {quote(name)}{so_far}.{nearest(name, known)}"
                yield problem_in(agent, path, message)
            elif part not in {"", PORT, HOST}:
                message = f"A service has a `{PORT}` and a `{HOST}`, but no {quote(part)}."
                yield problem_in(agent, path, message)
