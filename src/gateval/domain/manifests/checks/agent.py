"""What can be wrong with an Agent beyond its shape: its files, its tools, how it is started."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateval.domain.base import MODEL_NAME_PATTERN
from gateval.domain.manifests.agent import MODEL_RUNTIME, Agent, SystemFile
from gateval.domain.repository.paths import resolve_path, show_path
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import Tree, has_folder
from gateval.domain.text.quoting import quote

COMMAND_RUNTIME = "command"
_MODEL_NAME = re.compile(MODEL_NAME_PATTERN)


def agent_problems(agent: Agent, tree: Tree, *, targeted: bool) -> Iterator[Problem]:
    """Yield what is wrong with an Agent. `targeted`: whether an Eval targets it."""
    yield from _model_problems(agent, targeted=targeted)
    yield from _tool_problems(agent)
    yield from _prompt_problems(agent, tree)
    yield from _runtime_problems(agent)
    yield from _folder_problems(agent, tree)
    for index, pattern in enumerate(agent.spec.watch or ()):
        if resolve_path(agent.folder, pattern) is None:
            yield _problem(agent, f"spec.watch[{index}]", _leads_out(pattern))


def counts_whole_repository(agent: Agent) -> bool:
    """Whether every tracked file belongs to the Agent's closure, and nobody said so."""
    runtime = agent.spec.runtime
    if runtime is None or runtime.type == MODEL_RUNTIME or agent.spec.watch is not None:
        return False
    return resolve_path(agent.folder, runtime.cwd or ".") == ""


def _model_problems(agent: Agent, *, targeted: bool) -> Iterator[Problem]:
    """A declarative Agent needs models. One with a `spec.type` may be no template, but a service or
    a task, which nobody starts here unless an Eval targets it.
    """
    if agent.runtime_type != MODEL_RUNTIME:
        return
    declared = agent.spec.model_extra or {}
    if not agent.spec.models and (targeted or "type" not in declared):
        yield _problem(
            agent,
            "spec.models",
            f'The Agent "{agent.name}" names no model. Add spec.models, or a spec.runtime that '
            "starts it.",
        )
    for index, model in enumerate(agent.spec.models):
        if not _MODEL_NAME.fullmatch(model):
            message = f'{quote(model)} names no provider. Write "provider/model-id".'
            yield _problem(agent, f"spec.models[{index}]", message)


def _tool_problems(agent: Agent) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, tool in enumerate(agent.spec.tools):
        where = f"spec.tools[{index}]"
        if not tool.tool_name:
            yield _problem(agent, where, "This tool has no name. Add `name`.")
        elif tool.tool_name in seen:
            yield _problem(agent, where, f"The tool {quote(tool.tool_name)} stands here twice.")
        seen.add(tool.tool_name)


def _prompt_problems(agent: Agent, tree: Tree) -> Iterator[Problem]:
    system = agent.spec.system
    if not isinstance(system, SystemFile):
        return
    path = resolve_path(agent.folder, system.file)
    message = _leads_out(system.file) if path is None else _missing_file(path, tree)
    if message:
        yield _problem(agent, "spec.system.file", message)


def _missing_file(path: str, tree: Tree) -> str:
    """Say why `path` is no file of the revision; the empty string if it is one."""
    entry = tree.get(path)
    if entry is not None and entry.is_file:
        return ""
    steps = path.split("/")
    for length in range(1, len(steps) + 1):
        above = "/".join(steps[:length])
        found = tree.get(above)
        if found is not None and found.is_symlink:
            return f"{show_path(above)} is a symbolic link. Name the file itself."
        if found is not None and found.is_submodule:
            return f"{show_path(above)} is a submodule, which is not read. Copy the file here."
    return f"The file {show_path(path)} does not exist in this revision, or is not tracked."


def _runtime_problems(agent: Agent) -> Iterator[Problem]:
    runtime = agent.spec.runtime
    if runtime is None:
        return
    if runtime.type == MODEL_RUNTIME:
        for key in ("command", "setup", "cwd", "env"):
            if getattr(runtime, key):
                message = (
                    f"A runtime of type {MODEL_RUNTIME} starts no process. Add "
                    f"`type: {COMMAND_RUNTIME}`, or remove this."
                )
                yield _problem(agent, f"spec.runtime.{key}", message)


def _folder_problems(agent: Agent, tree: Tree) -> Iterator[Problem]:
    written = agent.spec.runtime.cwd if agent.spec.runtime else None
    if written is None:
        return
    path = resolve_path(agent.folder, written)
    message = _leads_out(written) if path is None else _missing_folder(path, tree)
    if message:
        yield _problem(agent, "spec.runtime.cwd", message)


def _missing_folder(path: str, tree: Tree) -> str:
    """Say why `path` is no folder of the revision; the empty string if it is, or may be by a link
    or a submodule, which is looked at where the Agent is started.
    """
    steps = path.split("/")
    above = (tree.get("/".join(steps[: length + 1])) for length in range(len(steps)))
    if has_folder(tree, path) or any(one and not one.is_file for one in above):
        return ""
    return f"{show_path(path)} is no folder of this revision, or nothing in it is tracked."


def _leads_out(path: str) -> str:
    return f"{show_path(path)} leads out of the repository. Nothing outside it is read."


def _problem(agent: Agent, path: str, message: str) -> Problem:
    place = agent.places.get(path) or agent.places.get(path.rpartition(".")[0]) or agent.place
    return Problem(place=place, path=path, message=message)
