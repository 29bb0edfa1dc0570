"""Files that fixtures depend on at one revision: of people's own checks, and of playgrounds.

A check's closure is like an Agent's: what is not in it, the check does not get. Manifests and the
gate config are in none.

No manifest, nothing of a check's own and nothing of the gate's is among them: a candidate may read
all that is in its playground.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from gateval.domain.base import canonical_json, digest
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.fixture import (
    CWD,
    OWN_CHECKS,
    AssertionSpec,
    CheckFiles,
    Fixture,
    has_own_checks,
    included,
    named_paths,
    own_checks,
    own_roots,
    set_up_inputs,
    starting_folder,
)
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.manifests.playground import PlaygroundSpec
from gateval.domain.paths import (
    folder_of,
    has_wildcard,
    path_of_text,
    resolve_path,
    resolve_pattern,
    show_path,
)
from gateval.domain.planning.closure import (
    Closure,
    closure_files,
    closure_of,
    follow_links,
    program_named,
)
from gateval.domain.planning.snapshot import OWN_FOLDER, Snapshot
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.tree import has_folder, under, walk_links

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
    near = start is not None and (fixture.folder == start or under(fixture.folder, {start}))
    if start is None or not (near or has_folder(snapshot.tree, start)):
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


def _place(agent: Agent, why: str) -> SourceLocation:
    key = f"spec.{why.partition(' ')[0]}"
    return agent.places.get(key, agent.places.get("spec.runtime", agent.place))


def _closure(
    folder: str,
    roots: dict[str, str],
    written: Iterable[tuple[str, str]],
    hidden: Callable[[str], bool],
    snapshot: Snapshot,
    of: str = "fixture",
) -> Closure:
    """Return the closure of roots and of paths or patterns, each written under a key."""
    patterns: dict[str, str] = {}
    for key, one in written:
        path = resolve_pattern(folder, one)
        if path is not None:
            (patterns if has_wildcard(path) else roots).setdefault(path, f"{key} {one}")
    passed, workdir = walk_links(folder, snapshot.links)
    roots |= {link: f"the {of}'s folder leads over it" for link in passed if link not in roots}
    found = follow_links(roots, patterns, snapshot, hidden)
    return Closure(folder, found, patterns, hidden, workdir)


def ground_closure(spec: PlaygroundSpec, folder: str, snapshot: Snapshot) -> Closure:
    """Return the closure of the playground of a manifest that stands in `folder`."""

    def hidden(path: str) -> bool:
        return (
            path == GATE_CONFIG_PATH
            or path in snapshot.manifest_paths
            or path.startswith(OWN_FOLDER)
            or under(path, snapshot.own_check_roots)
        )

    roots = dict.fromkeys(spec.own_roots(folder), "the playground's own")
    written = (("files", one) for one in spec.files)
    return _closure(folder, roots, written, hidden, snapshot, "manifest")


def ground_closures(snapshot: Snapshot) -> Iterator[tuple[Fixture, Closure]]:
    """Yield the closures of playgrounds; of those with the same files, the first fixture's."""
    seen: set[tuple[str, str]] = set()
    for fixture in snapshot.catalogue.fixtures:
        if fixture.playground is not None:
            key = _key(fixture.playground, fixture.folder)
            if key not in seen:
                seen.add(key)
                yield fixture, ground_closure(fixture.playground, fixture.folder, snapshot)


def with_grounds(catalogue: Catalogue, snapshot: Snapshot) -> Catalogue:
    """Return the catalogue with the files of all playgrounds, which are part of their fixtures."""
    if all(fixture.playground is None for fixture in catalogue.fixtures):
        return catalogue
    known: dict[tuple[str, str], CheckFiles] = {}

    def grounded(fixture: Fixture) -> Fixture:
        spec = fixture.playground
        if spec is None:
            return fixture
        key = _key(spec, fixture.folder)
        if key not in known:
            closure = ground_closure(spec, fixture.folder, snapshot)
            inside = (
                path
                for path in snapshot.paths
                if (under(path, closure.roots.keys()) or closure.watched(path))
                and closure.hidden(path)
            )
            known[key] = _files(closure, inside, snapshot)
        whole = digest([fixture.digest, known[key].digest])
        return fixture.replace(ground=known[key], digest=whole)

    return _of_each(catalogue, grounded)


def _key(spec: PlaygroundSpec, folder: str) -> tuple[str, str]:
    return folder, canonical_json(spec.model_dump(mode="json"))


def _files(closure: Closure, hidden: Iterable[str], snapshot: Snapshot) -> CheckFiles:
    """Return the files of a closure; `hidden` are those in its folders that do not belong to it."""
    files = closure_files(closure, snapshot)
    return CheckFiles(
        rules=closure.rules(),
        hidden=tuple(sorted(hidden)),
        digest=digest([*sorted(f"{path}\0{entry}" for path, entry in files.items())]),
    )


def check_closure(spec: AssertionSpec, folder: str, snapshot: Snapshot) -> Closure:
    """Return the closure of an own check whose fixture stands in `folder`."""

    def hidden(path: str) -> bool:
        return path == GATE_CONFIG_PATH or path in snapshot.manifest_paths

    written = [("include", one) for one in included(spec)]
    written += [("setup.inputs", one) for one in set_up_inputs(spec)]
    roots = dict.fromkeys(own_roots(spec, folder, snapshot.tree), "the check's own")
    return _closure(folder, roots, written, hidden, snapshot)


def check_closures(snapshot: Snapshot) -> list[Closure]:
    """Return the closures of all own checks and playgrounds of a revision."""
    checks = [
        check_closure(spec, fixture.folder, snapshot)
        for fixture in snapshot.catalogue.fixtures
        for spec in own_checks(fixture)
    ]
    return [*checks, *(closure for _, closure in ground_closures(snapshot))]


def depends_on(fixture: Fixture, snapshot: Snapshot, paths: frozenset[str]) -> bool:
    """Whether one of these paths is a file of an own check of the fixture, there or not, or of its
    playground.
    """
    if fixture.playground is not None:
        ground = ground_closure(fixture.playground, fixture.folder, snapshot)
        if any(map(ground.covers, paths)):
            return True
    for spec in own_checks(fixture):
        closure = check_closure(spec, fixture.folder, snapshot)
        named = set(named_paths(spec, fixture.folder))
        if any(closure.covers(path) or path in named for path in paths):
            return True
    return False


def attached_paths(fixture: Fixture) -> Iterator[str]:
    """Yield the paths of the files in a fixture's messages, from the root; there or not."""
    yield from map(path_of_text, fixture.files)
    for _, part in fixture.attached():
        yield resolve_path(fixture.folder, part.path) or ""


def with_check_files(catalogue: Catalogue, snapshot: Snapshot) -> Catalogue:
    """Return the catalogue with the files of all own checks, which are part of their fixtures."""
    if not has_own_checks(catalogue.fixtures):
        return catalogue
    known: dict[tuple[str, str], CheckFiles] = {}

    def filled(spec: AssertionSpec, folder: str) -> AssertionSpec:
        parts = tuple(filled(part, folder) for part in spec.parts)
        if spec.type not in OWN_CHECKS:
            return spec.replace(parts=parts, own=None)
        key = (folder, canonical_json(spec.meaning))
        if key not in known:  # many cases of one file have the same
            closure = check_closure(spec, folder, snapshot)
            ours = (
                path
                for path in (*snapshot.manifest_paths, GATE_CONFIG_PATH)
                if path in snapshot.tree
            )
            inside = {
                one for one in ours if under(one, closure.roots.keys()) or closure.watched(one)
            }
            known[key] = _files(closure, inside, snapshot)
        return spec.replace(parts=parts, own=known[key])

    def with_files(fixture: Fixture) -> Fixture:
        if not has_own_checks([fixture]):
            return fixture
        assertions = tuple(filled(one, fixture.folder) for one in fixture.assertions)
        whole = fixture.replace(assertions=assertions)
        digests = [one.own.digest for one in own_checks(whole) if one.own]
        return whole.replace(digest=digest([fixture.digest, *digests]))

    return _of_each(catalogue, with_files)


def _of_each(catalogue: Catalogue, change: Callable[[Fixture], Fixture]) -> Catalogue:
    """Return the catalogue with each fixture changed, and each as it is filled in for an Eval."""
    filled = {
        evaluation: {name: change(one) for name, one in named.items()}
        for evaluation, named in catalogue.filled.items()
    }
    return replace(catalogue, fixtures=tuple(map(change, catalogue.fixtures)), filled=filled)
