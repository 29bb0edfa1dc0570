"""What can be wrong with the paths that an Agent names: its prompt, its folder, its files."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.manifests.agent import Agent, SystemFile
from gateval.domain.repository.paths import resolve_path, resolve_pattern, show_path
from gateval.domain.repository.patterns import has_wildcard, match_any
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import Tree, folders_of, has_folder
from gateval.domain.text.quoting import quote


def file_problems(agent: Agent, tree: Tree) -> Iterator[Problem]:
    """Yield what is wrong with the paths in an Agent's manifest; `tree` is its revision's."""
    yield from _prompt_problems(agent, tree)
    yield from _folder_problems(agent, tree)
    yield from _pattern_problems(agent, tree)


def _prompt_problems(agent: Agent, tree: Tree) -> Iterator[Problem]:
    system = agent.spec.system
    if not isinstance(system, SystemFile):
        return
    path = resolve_path(agent.folder, system.file)
    message = _leads_out(system.file) if path is None else _missing_file(path, tree)
    if message:
        yield problem_in(agent, "spec.system.file", message)


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


def _pattern_problems(agent: Agent, tree: Tree) -> Iterator[Problem]:
    """What leads out of the repository, and what is included and not there."""
    runtime = agent.spec.runtime
    layer = runtime.layer if runtime else None
    cwd = resolve_path(agent.folder, runtime.own_cwd if runtime else ".") or ""
    for key, folder, written in (
        ("spec.watch", agent.folder, agent.spec.watch or ()),
        ("spec.include", agent.folder, agent.spec.include),
        ("spec.runtime.setup.inputs", cwd, layer.inputs if layer else ()),
    ):
        for index, pattern in enumerate(written):
            path = resolve_pattern(folder, pattern)
            if path is None:
                yield problem_in(agent, f"{key}[{index}]", _leads_out(pattern))
            elif key != "spec.watch" and not _matches(path, tree):
                message = f"{quote(pattern)} fits no tracked file of this revision."
                yield problem_in(agent, f"{key}[{index}]", message)
    for index, made in enumerate(layer.creates if layer else ()):
        yield from _created_problems(agent, index, made, resolve_path(cwd, made), tree)


def _matches(path: str, tree: Tree) -> bool:
    if has_wildcard(path):
        return any(map(match_any([path]), tree))
    if path in tree or has_folder(tree, path):
        return True  # a link or a submodule may have anything behind it
    return any(step in tree and not tree[step].is_file for step in folders_of(path))


def _created_problems(
    agent: Agent, index: int, made: str, path: str | None, tree: Tree
) -> Iterator[Problem]:
    where = f"spec.runtime.setup.creates[{index}]"
    if path is None or made.startswith("/") or ".." in made.split("/") or not made.strip("./"):
        message = f"{quote(made)} has to be a name below the working directory."
        yield problem_in(agent, where, message)
    elif path in tree or has_folder(tree, path):
        message = f"{show_path(path)} is tracked, so no set-up can put something else there."
        yield problem_in(agent, where, message)


def _folder_problems(agent: Agent, tree: Tree) -> Iterator[Problem]:
    runtime = agent.spec.runtime
    if runtime is None or runtime.cwd is None:
        return
    written = runtime.own_cwd
    path = resolve_path(agent.folder, written)
    message = _leads_out(written) if path is None else _missing_folder(path, tree)
    if message:
        yield problem_in(agent, "spec.runtime.cwd", message)


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


def problem_in(agent: Agent, path: str, message: str) -> Problem:
    """Return a problem with what stands at `path` in the Agent's manifest."""
    part = path
    while part and part not in agent.places:
        part = part[: max(part.rfind("."), part.rfind("["), 0)]
    return Problem(place=agent.places.get(part, agent.place), path=path, message=message)
