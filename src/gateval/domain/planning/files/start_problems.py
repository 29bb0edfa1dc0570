"""Problems with the files of Agents that start a process, before anything is started."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from gateval.domain.manifests.agent import Agent, RuntimeSpec
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.playground import OWN_FILES
from gateval.domain.paths import Problem, resolve_path, show_path
from gateval.domain.planning.closure import (
    Closure,
    closure_of,
    closure_paths,
    named,
    program_named,
    working_directory,
)
from gateval.domain.planning.snapshot import OWN_FOLDER, Snapshot
from gateval.domain.text import quote
from gateval.domain.tree import check_links, folders_of, has_folder
from gateval.errors import RepositoryError


def closure_problems(snapshot: Snapshot) -> Iterator[Problem]:
    """Yield what keeps an Agent's candidates from starting.

    That is a `watch` without a program that its commands name, or one below `.gateval/`, for every
    Agent, and links that no export can hold, for those that an Eval targets.
    """
    targets = {evaluation.target_agent for evaluation in snapshot.catalogue.evals}
    for agent in snapshot.catalogue.agents:
        if not agent.starts_process:
            continue
        closure = closure_of(agent, snapshot)
        yield from _left_out(agent, closure, snapshot)
        if agent.name in targets and snapshot.links:
            yield from _links_out(agent, closure, snapshot)


def missing_programs(snapshot: Snapshot) -> Iterator[Problem]:
    """Yield, for each Agent, the programs that it starts and that are not where it looks for them.

    It is allowed: a set-up may make it, or the machine may have it, or a playground.
    """
    for agent in snapshot.catalogue.agents:
        runtime, cwd = agent.spec.runtime, working_directory(agent)
        if runtime is None or runtime.setup or cwd is None:
            continue
        for key, words in runtime.own_commands():
            index, program = program_named(words) or (0, "")
            path = resolve_path(cwd, program) if program else None
            if path is None:
                continue
            begins = runtime.in_playground and program in runtime.command
            if _is_there(path, snapshot) is not begins:
                continue  # what is looked for in a playground may be there, too
            message = (
                f"{quote(program)} is looked for in the playground, where the agent begins. "
                f"For its own file, write {quote(f'{OWN_FILES}/{program}')}."
                if begins
                else f"{show_path(path)} is no file of this revision. Correct the path, relative "
                "to runtime.cwd, or track the file."
            )
            place = agent.places.get("spec.runtime", agent.place)
            yield Problem(place=place, path=f"spec.runtime.{key}[{index}]", message=message)


def _is_there(path: str, snapshot: Snapshot) -> bool:
    """Whether something stands at a path, or may: behind a link or a submodule on the way."""
    if has_folder(snapshot.tree, path):
        return True
    return any(step in snapshot.tree for step in (path, *folders_of(path)))


def _left_out(agent: Agent, closure: Closure, snapshot: Snapshot) -> Iterator[Problem]:
    runtime, cwd = agent.spec.runtime, working_directory(agent)
    if runtime is None or cwd is None:
        return
    watch = agent.spec.watch is not None
    for key, word in ((key, word) for key, words in runtime.own_commands() for word in words):
        paths = {*named(cwd, word, snapshot), resolve_path(cwd, word)}
        for path in sorted(path for path in paths if path):
            entry = snapshot.tree.get(path)
            if not entry or entry.is_submodule or closure.covers(path):
                continue
            if watch or path.startswith(OWN_FOLDER):
                where = "spec.watch" if watch else "spec.runtime"
                yield Problem(
                    place=agent.places.get(where, agent.place),
                    path=where,
                    message=f"{quote(word)} of runtime.{key} is {show_path(path)}, which "
                    + (_UNWATCHED if watch else _HIDDEN),
                )


_UNWATCHED = "`watch` leaves out, so the agent would not get it. Add it to watch."
_HIDDEN = (
    f"lies below {OWN_FOLDER}, where files are the gate's: no agent gets them, and no change of "
    "them is measured. Move the agent to another folder, or name its files in include."
)


def _links_out(agent: Agent, closure: Closure, snapshot: Snapshot) -> Iterator[Problem]:
    links = {
        path: snapshot.links[path]
        for path in closure_paths(closure, snapshot)
        if path in snapshot.links
    }
    try:
        check_links(links)
    except RepositoryError as error:
        message = f"This Agent cannot start. {error.sentence}"
        yield Problem(place=agent.place, message=message.strip())


RUNNER = "gateval/gateval/runner"

SHELL_WORDS = 3
SHELL_OWN = frozenset(
    {
        "cd",
        "export",
        "set",
        "test",
        "if",
        "for",
        "while",
        "exec",
        "eval",
        ".",
        "exit",
        "trap",
        "umask",
        "ulimit",
        "unset",
        ":",
    }
)
"""What a shell does itself, without a program of that name."""


def missing_interpreters(
    catalogue: Catalogue, find: Callable[[str], str | None]
) -> Iterator[Problem]:
    """Yield, for each Agent, a program of `command` or `setup` that is not on PATH here.

    `find` returns where a program is, None if it is nowhere. Words with a slash are files, and
    those with a template are known when they run.
    """
    for agent in catalogue.agents:
        for key, name in asked_programs(agent.spec.runtime):
            if name and "/" not in name and "{" not in name and find(name) is None:
                yield Problem(
                    place=agent.places.get("spec.runtime", agent.place),
                    path=f"spec.runtime.{key}",
                    message=f"this machine has no {quote(name)}. Install it; on GitHub, the action "
                    f"`{RUNNER}` runs with what earlier steps of the job have installed, and the "
                    "container of `gateval/gateval` has Python and little else "
                    "(docs/guides/runner.md).",
                )


def asked_programs(runtime: RuntimeSpec | None) -> Iterator[tuple[str, str]]:
    """Yield the words that name what an Agent is started with: the key, and the program."""
    if runtime is None:
        return
    for server in runtime.servers:
        yield f"tools {server.name}", server.command[0]
    if runtime.command:
        yield "command[0]", runtime.command[0]
    if runtime.layer is not None:
        yield _behind("setup.run", runtime.layer.run)
    elif runtime.own_setup:
        yield _behind("setup", runtime.own_setup)


def _behind(key: str, words: Sequence[str]) -> tuple[str, str]:
    """Return the word that names the program, and that program: `env` sets variables before it.

    Of a line for a shell it is the first word.
    """
    if tuple(words[:2]) == ("sh", "-c") and len(words) == SHELL_WORDS:
        first = words[2].split(maxsplit=1)[0] if words[2].strip() else ""
        plain = re.fullmatch(r"[\w.+-]+", first) and first not in SHELL_OWN
        return f"{key}[2]", first if plain else ""
    at = 0
    if words[0] == "env":
        at = next((n for n, word in enumerate(words[1:], 1) if "=" not in word), 0)
    return f"{key}[{at}]", words[at]
