"""The files of people's own checks at one revision, as part of the fixtures that use them.

A check's closure is like an Agent's: what is not in it, the check does not get. Manifests and the
gate config are in none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gateval.domain.base import canonical_json, digest
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.fixture import AssertionSpec, CheckFiles, Fixture
from gateval.domain.manifests.own_checks import (
    OWN_CHECKS,
    has_own_checks,
    included,
    named_paths,
    own_checks,
    own_roots,
    set_up_inputs,
)
from gateval.domain.manifests.policy.gate_config import GATE_CONFIG_PATH
from gateval.domain.planning.closure import Closure
from gateval.domain.planning.files.grounds import files_of, ground_closure, ground_closures
from gateval.domain.planning.files.links import follow_links
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.links import walk_links
from gateval.domain.repository.paths import path_of_text, resolve_path, resolve_pattern
from gateval.domain.repository.patterns import has_wildcard
from gateval.domain.repository.tree import under


def check_closure(spec: AssertionSpec, folder: str, snapshot: Snapshot) -> Closure:
    """Return the closure of an own check whose fixture stands in `folder`."""
    roots = dict.fromkeys(own_roots(spec, folder, snapshot.tree), "the check's own")
    patterns: dict[str, str] = {}
    for key, written in (("include", included(spec)), ("setup.inputs", set_up_inputs(spec))):
        for one in written:
            path = resolve_pattern(folder, one)
            if path is not None:
                (patterns if has_wildcard(path) else roots).setdefault(path, f"{key} {one}")

    def hidden(path: str) -> bool:
        return path == GATE_CONFIG_PATH or path in snapshot.manifest_paths

    passed, workdir = walk_links(folder, snapshot.links)
    roots |= {link: "the fixture's folder leads over it" for link in passed if link not in roots}
    found = follow_links(roots, patterns, snapshot, hidden)
    return Closure(folder, found, patterns, hidden, workdir)


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
    files = _Files(snapshot)
    filled = {
        evaluation: {name: _with_files(one, files) for name, one in named.items()}
        for evaluation, named in catalogue.filled.items()
    }
    fixtures = tuple(_with_files(one, files) for one in catalogue.fixtures)
    return replace(catalogue, fixtures=fixtures, filled=filled)


class _Files:
    """The files of own checks; many cases of one file have the same."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[str, str], CheckFiles] = {}

    def of(self, spec: AssertionSpec, folder: str) -> CheckFiles:
        key = (folder, canonical_json(spec.meaning))
        if key not in self._known:
            self._known[key] = _files(spec, folder, self._snapshot)
        return self._known[key]


def _with_files(fixture: Fixture, files: _Files) -> Fixture:
    if not has_own_checks([fixture]):
        return fixture
    assertions = tuple(_filled(one, fixture.folder, files) for one in fixture.assertions)
    filled = fixture.model_copy(update={"assertions": assertions})
    digests = [one.own.digest for one in own_checks(filled) if one.own]
    return filled.model_copy(update={"digest": digest([fixture.digest, *digests])})


def _filled(spec: AssertionSpec, folder: str, files: _Files) -> AssertionSpec:
    parts = tuple(_filled(part, folder, files) for part in spec.parts)
    own = files.of(spec, folder) if spec.type in OWN_CHECKS else None
    return spec.model_copy(update={"parts": parts, "own": own})


def _files(spec: AssertionSpec, folder: str, snapshot: Snapshot) -> CheckFiles:
    closure = check_closure(spec, folder, snapshot)
    ours = (path for path in (*snapshot.manifest_paths, GATE_CONFIG_PATH) if path in snapshot.tree)
    inside = {one for one in ours if under(one, closure.roots.keys()) or closure.watched(one)}
    return files_of(closure, inside, snapshot)
