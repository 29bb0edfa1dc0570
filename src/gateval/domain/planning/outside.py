"""Files that a manifest shows to be needed, and that no candidate gets: people are told.

Nothing here adds to a closure: what it does not hold is not there when an Agent is measured. But
while nobody says so, a change of such a file asks for no Eval, and is green unmeasured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from gateval.domain.base import canonical_json
from gateval.domain.manifests.agent import Agent, RuntimeSpec
from gateval.domain.manifests.agent_checks import problem_in
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.fixture import (
    AssertionSpec,
    Fixture,
    included,
    own_checks,
    starting_folder,
)
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.manifests.playground import OWN_FILES
from gateval.domain.paths import folder_of, resolve_path, show_path
from gateval.domain.planning.closure import (
    Closure,
    changed_folders,
    closure_of,
    closure_paths,
    literals,
    named,
    program_named,
    working_directory,
)
from gateval.domain.planning.fixture_files import check_closure
from gateval.domain.planning.snapshot import OWN_FOLDER, Snapshot
from gateval.domain.problems import Problem
from gateval.domain.text import quote
from gateval.domain.tree import check_links, folders_of, has_folder, under, walk_links
from gateval.errors import RepositoryError

_DECLARED = ("include ", "watch ", "setup.inputs ")
_PLAIN = re.compile(r"[\w./+*-]+")


@dataclass(frozen=True)
class Outside:
    """One path that a manifest shows: whose it is, where it leads, and what to tell.

    `path` is a file, a link, a submodule or a folder outside the closure of `owner`.
    """

    owner: str
    path: str
    problem: Problem


def outside_paths(snapshot: Snapshot) -> tuple[Outside, ...]:
    """Return what the manifests of a revision show and nobody declares, each path once by owner."""
    return snapshot.once("outside", snapshot.catalogue, lambda: _found(snapshot))


def _found(snapshot: Snapshot) -> tuple[Outside, ...]:
    found: dict[tuple[str, str], Outside] = {}
    for one in (*_of_agents(snapshot), *_of_checks(snapshot)):
        found.setdefault((one.owner, one.path), one)
    return tuple(found.values())


def added_outside(head: Snapshot, base: Snapshot | None) -> tuple[Problem, ...]:
    """Return the problems that head has and base, if there is one, has not."""
    ours = outside_paths(head)
    known = {(one.owner, one.path) for one in outside_paths(base)} if ours and base else set()
    return tuple(one.problem for one in ours if (one.owner, one.path) not in known)


def outside_warnings(
    snapshot: Snapshot, owners: Collection[str], changed: Collection[str]
) -> Iterator[str]:
    """Tell what is shown by Agents that run (`owners`), and where a changed path lies there."""
    for one in outside_paths(snapshot):
        if one.owner in owners or any(under(path, {one.path}) for path in changed):
            yield str(one.problem)


class _Text(NamedTuple):
    """A text that goes to the operating system, and the key that it stands at below `spec`."""

    key: str
    text: str
    is_word: bool = True


class _Lead(NamedTuple):
    """Where a literal leads: a path of the tree, or a folder."""

    literal: str
    path: str
    is_folder: bool

    @property
    def pattern(self) -> str:
        """What `include` names it by."""
        if not self.is_folder:
            return f"/{self.path}"
        return f"/{self.path}/**" if self.path else "/**"

    @property
    def shown(self) -> str:
        if self.is_folder and not self.path:
            return "the repository's root"
        return f"{'the folder ' if self.is_folder else ''}{show_path(self.path)}"


def _of_agents(snapshot: Snapshot) -> Iterator[Outside]:
    for agent in snapshot.catalogue.agents:
        runtime, cwd = agent.spec.runtime, working_directory(agent)
        if runtime is None or cwd is None or not agent.starts_process:
            continue
        look = _Look(snapshot, agent, cwd)
        for one in _texts(agent, runtime):
            told = _told_by_watch(agent, cwd, one, snapshot)
            for lead in look.leads(one.text):
                if lead.path not in told:
                    problem = _problem(agent, one, lead)
                    yield Outside(agent.name, lead.path, problem)


def _of_checks(snapshot: Snapshot) -> Iterator[Outside]:
    seen: set[tuple[str, str]] = set()
    for fixture in snapshot.catalogue.fixtures:
        for spec in own_checks(fixture):
            cwd, command = starting_folder(spec, fixture.folder), spec.options.get("command")
            key = (fixture.folder, canonical_json(spec.options))
            if cwd is None or not isinstance(command, list) or key in seen:
                continue
            seen.add(key)
            look = _Look(snapshot, (fixture, spec), cwd)
            for lead in (one for word in command for one in look.leads(str(word))):
                message = (
                    f"{quote(lead.literal)} leads to {lead.shown}, which is not among the files of "
                    "this check, so the check does not get it and a change there is not seen. "
                    f"Write `include: {_listed([*included(spec), lead.pattern])}` in it."
                )
                problem = Problem(place=spec.place, message=message)
                yield Outside(f"{fixture.family or fixture.name} {spec.name}", lead.path, problem)


def _texts(agent: Agent, runtime: RuntimeSpec) -> Iterator[_Text]:
    """Yield every text of an Agent that its programs are started with, seen from its own files."""
    for key, words, env in _programs(agent, runtime):
        inside = runtime.in_playground and key == "runtime.command"
        for at, word in enumerate(words):
            if not inside or OWN_FILES in word:
                yield _Text(f"{key}[{at}]", word.replace(OWN_FILES, "."))
        where = key.rpartition(".")[0] or key
        for name, value in env.items():
            if not runtime.in_playground or OWN_FILES in value:
                yield _Text(f"{where}.env.{name}", value.replace(OWN_FILES, "."), is_word=False)
    line = runtime.options.get("line")
    if isinstance(line, str):
        yield _Text("", line, is_word=False)


def _programs(
    agent: Agent, runtime: RuntimeSpec
) -> Iterator[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Yield what is started: the key below `spec`, the words, and its variables."""
    yield "runtime.setup", runtime.own_setup, {}
    yield "runtime.setup.run", runtime.layer.run if runtime.layer else (), {}
    yield "runtime.command", runtime.command, runtime.env
    yield "runtime.before", runtime.before, {}
    yield "runtime.after", runtime.after, {}
    for index, service in enumerate(runtime.services):
        yield f"runtime.services[{index}].command", service.command, service.env
    at = {tool.tool_name: index for index, tool in enumerate(agent.spec.tools) if tool.is_server}
    for server in runtime.servers:
        yield f"tools[{at.get(server.name, 0)}].command", server.command, server.env


def _told_by_watch(agent: Agent, cwd: str, one: _Text, snapshot: Snapshot) -> set[str | None]:
    """The files of whole words where `watch` says which count: they are told of already."""
    if agent.spec.watch is None or not one.is_word:
        return set()
    paths = {*named(cwd, one.text, snapshot), resolve_path(cwd, one.text)}
    return {path for path in paths if path in snapshot.tree}


def _problem(agent: Agent, one: _Text, lead: _Lead) -> Problem:
    message = (
        f"{quote(lead.literal)} leads to {lead.shown}, which is not among the files of Agent "
        f"{agent.name}: a candidate does not get it, and a change there is not measured. "
    )
    if not one.key:  # a target of another format
        message += f"Write `include: {_listed([lead.pattern])}` under its `gateval`."
        return problem_in(agent, "spec.runtime", message).replace(path="")
    layer = agent.spec.runtime.layer if agent.spec.runtime else None
    if layer is not None and one.key.startswith("runtime.setup.run"):
        message += f"Write `inputs: {_listed([*layer.inputs, lead.pattern])}` in the set-up."
    else:
        message += f"Write `include: {_listed([*agent.spec.include, lead.pattern])}` under spec."
    return problem_in(agent, f"spec.{one.key}", message)


def _listed(patterns: Iterable[str]) -> str:
    words = (one if _PLAIN.fullmatch(one) else json.dumps(one) for one in patterns)
    return f"[{', '.join(words)}]"


@dataclass(frozen=True)
class _Look:
    """Follows the literals of one Agent or check. Its closure is made when a file is in question:
    most command lines lead nowhere.
    """

    snapshot: Snapshot
    of: Agent | tuple[Fixture, AssertionSpec]
    cwd: str

    @cached_property
    def closure(self) -> Closure:
        """What it gets."""
        if isinstance(self.of, Agent):
            return closure_of(self.of, self.snapshot)
        fixture, spec = self.of
        return check_closure(spec, fixture.folder, self.snapshot)

    def leads(self, text: str) -> list[_Lead]:
        """Return where the literals of a text lead outside, the most exact of them.

        Where a line changes to a folder, what it names from there stands for the folder.
        """
        found = {one.path: one for one in self._outside(self.cwd, text)}
        for folder in changed_folders(text):
            path = resolve_path(self.cwd, folder)
            if path in found and path is not None:
                inner = [one for one in self._outside(path, text) if one.path not in found]
                found |= {one.path: one for one in inner if not under(path, {one.path})}
        return [
            one
            for one in found.values()
            if not any(path != one.path and under(path, {one.path}) for path in found)
        ]

    def _outside(self, cwd: str, text: str) -> Iterator[_Lead]:
        for literal in literals(text):
            passed, end = walk_links(f"{cwd}/{literal}", self.snapshot.links)
            link = next((one for one in passed if not self.closure.covers(one)), None)
            path = end if link is None else link
            if path is not None and not self._is_own(path):
                yield from self._at(literal, path)

    def _is_own(self, path: str) -> bool:
        """Whether a path lies where everything is given: that tells without a closure."""
        whole = isinstance(self.of, Agent) and self.of.spec.watch is None
        return whole and under(path, {self.cwd}) and not self.snapshot.is_hidden(path)

    def _at(self, literal: str, path: str) -> Iterator[_Lead]:
        for step in (*folders_of(path), path):
            entry = self.snapshot.tree.get(step)
            if entry is not None and (step == path or entry.is_submodule):
                if not self.closure.covers(step) and not self._kept_from_all(step):
                    yield _Lead(literal, step, is_folder=False)
                return
        if self._lacks(path):
            yield _Lead(literal, path, is_folder=True)

    def _kept_from_all(self, path: str) -> bool:
        """Whether no `include` gives this file: what checks are made of has rules of its own."""
        own = path == GATE_CONFIG_PATH or under(path, self.snapshot.check_roots)
        return own or (not isinstance(self.of, Agent) and self.closure.hidden(path))

    def _lacks(self, folder: str) -> bool:
        """Whether files of a folder are not given, and nobody declared which of them are.

        Of a folder around the working directory, those elsewhere in it count.
        """
        around = under(self.cwd, {folder})

        def counts(path: str) -> bool:
            return under(path, {folder}) and not (around and under(path, {self.cwd}))

        roots, patterns = self.closure.roots, self.closure.patterns
        declared = (*roots.items(), *((folder_of(one), why) for one, why in patterns.items()))
        if any(counts(path) and why.startswith(_DECLARED) for path, why in declared):
            return False
        return any(
            counts(path) and not self.closure.hidden(path) and not self.closure.covers(path)
            for path in self.snapshot.below(folder)
        )


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
            steps = (path, *folders_of(path))  # or behind a link or a submodule on the way
            there = any(one in snapshot.tree for one in steps) or has_folder(snapshot.tree, path)
            if there is not begins:
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
