"""Problems with the files of people's own checks, before anything is started."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.own_checks import CWD, named_paths, own_checks, starting_folder
from gateval.domain.planning.closure import closure_of
from gateval.domain.planning.files.named_paths import program_named
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.paths import resolve_path, show_path
from gateval.domain.repository.patterns import folder_of
from gateval.domain.repository.place import Place, Problem
from gateval.domain.repository.tree import has_folder, under

_SHELLS = (["sh", "-c"], ["bash", "-c"])
_SEVERAL = re.compile(r"[;&|<>()`\n]")
"""What makes more of a line than one program with its arguments."""

_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
"""What a line sets for the program behind it."""

_NO_PROGRAMS = (["cd"], ["test"], ["["])


def check_problems(snapshot: Snapshot) -> Iterator[Problem]:
    """Yield what keeps own checks from running, and Agents that would get their files."""
    for fixture in snapshot.catalogue.fixtures:
        for spec in own_checks(fixture):
            yield from _missing(spec, fixture, snapshot)
    for agent in snapshot.catalogue.agents if snapshot.check_roots else ():
        if agent.starts_process:
            yield from _shared(agent, snapshot)


def _missing(spec: AssertionSpec, fixture: Fixture, snapshot: Snapshot) -> Iterator[Problem]:
    """A program that is no file of this revision, or a folder that is none."""
    start = starting_folder(spec, fixture.folder)
    if start is None or not _is_folder(start, fixture, snapshot):
        shown = show_path(str(spec.options.get(CWD)))
        said = f"{shown} (`cwd`) is no folder of this revision. Correct it, or track its files."
        yield Problem(place=spec.place, message=said)
        return
    for path in _programs(spec, fixture.folder):
        if path not in snapshot.tree and not has_folder(snapshot.tree, path):
            yield Problem(
                place=spec.place,
                message=f"{show_path(path)} is no file of this revision. Correct the path, which "
                f"counts from the folder of {show_path(fixture.path)}, or track the file.",
            )


def _is_folder(path: str, fixture: Fixture, snapshot: Snapshot) -> bool:
    near = under(fixture.folder, {path}) or path == fixture.folder
    return near or has_folder(snapshot.tree, path)


def _programs(spec: AssertionSpec, folder: str) -> Iterator[str]:
    command = spec.options.get("command")
    if "function" in spec.options:
        yield from named_paths(spec, folder)
    elif isinstance(command, list):
        words = _started([word for word in command if isinstance(word, str)])
        program, start = program_named(words), starting_folder(spec, folder)
        path = resolve_path(start, program[1]) if program and start is not None else None
        if path:
            yield path


def _started(words: list[str]) -> list[str]:
    """Return the words of the command; those of a line for a shell that only starts a program."""
    if words[:2] not in _SHELLS or len(words) != 3:
        return words
    line = words[2]
    if _SEVERAL.search(line):
        return []
    try:
        started = shlex.split(line)
    except ValueError:
        return []
    while started and _VARIABLE.match(started[0]):
        del started[0]
    return [] if started[:1] in _NO_PROGRAMS else started


def _shared(agent: Agent, snapshot: Snapshot) -> Iterator[Problem]:
    """What an Agent names of a check's own files: a candidate must not read what it is held to."""
    closure = closure_of(agent, snapshot)
    names = {**closure.roots, **{folder_of(one): why for one, why in closure.patterns.items()}}
    for path in sorted(names):
        if path and under(path, snapshot.ground_roots):
            yield Problem(
                place=_place(agent, names[path]),
                message=f"{show_path(path)} ({names[path]}) is a playground's own, which agents "
                "get in its runs alone. What an agent always needs belongs elsewhere, under "
                "`files` of the playground.",
            )
        elif path and under(path, snapshot.own_check_roots):
            yield Problem(
                place=_place(agent, names[path]),
                message=f"{show_path(path)} ({names[path]}) is among the own files of a check, "
                "which no agent may see. Give the check a folder of its own; what both "
                "need belongs elsewhere, under `include` of the check.",
            )


def _place(agent: Agent, why: str) -> Place:
    key = f"spec.{why.partition(' ')[0]}"
    return agent.places.get(key, agent.places.get("spec.runtime", agent.place))
