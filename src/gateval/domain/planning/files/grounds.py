"""The files of playgrounds at one revision, as part of the fixtures that begin with them.

No manifest, nothing of a check's own and nothing of the gate's is among them: a candidate may read
all that is in its playground.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gateval.domain.base import canonical_json, digest
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.fixture import CheckFiles, Fixture
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.domain.manifests.policy.gate_config import GATE_CONFIG_PATH
from gateval.domain.planning.closure import Closure, closure_files
from gateval.domain.planning.files.links import follow_links
from gateval.domain.planning.snapshot import OWN_FOLDER, Snapshot
from gateval.domain.repository.links import walk_links
from gateval.domain.repository.paths import resolve_pattern
from gateval.domain.repository.patterns import has_wildcard
from gateval.domain.repository.tree import under


def ground_closure(spec: PlaygroundSpec, folder: str, snapshot: Snapshot) -> Closure:
    """Return the closure of the playground of a manifest that stands in `folder`."""
    roots = dict.fromkeys(spec.own_roots(folder), "the playground's own")
    patterns: dict[str, str] = {}
    for one in spec.files:
        path = resolve_pattern(folder, one)
        if path is not None:
            (patterns if has_wildcard(path) else roots).setdefault(path, f"files {one}")

    def hidden(path: str) -> bool:
        return (
            path == GATE_CONFIG_PATH
            or path in snapshot.manifest_paths
            or path.startswith(OWN_FOLDER)
            or under(path, snapshot.own_check_roots)
        )

    passed, workdir = walk_links(folder, snapshot.links)
    roots |= {link: "the manifest's folder leads over it" for link in passed if link not in roots}
    found = follow_links(roots, patterns, snapshot, hidden)
    return Closure(folder, found, patterns, hidden, workdir)


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
            known[key] = _files(ground_closure(spec, fixture.folder, snapshot), snapshot)
        whole = digest([fixture.digest, known[key].digest])
        return fixture.model_copy(update={"ground": known[key], "digest": whole})

    filled = {
        evaluation: {name: grounded(one) for name, one in named.items()}
        for evaluation, named in catalogue.filled.items()
    }
    return replace(catalogue, fixtures=tuple(map(grounded, catalogue.fixtures)), filled=filled)


def _key(spec: PlaygroundSpec, folder: str) -> tuple[str, str]:
    return folder, canonical_json(spec.model_dump(mode="json"))


def _files(closure: Closure, snapshot: Snapshot) -> CheckFiles:
    inside = (
        path
        for path in snapshot.paths
        if (under(path, closure.roots.keys()) or (closure.patterns and closure.watched(path)))
        and closure.hidden(path)
    )
    return files_of(closure, inside, snapshot)


def files_of(closure: Closure, hidden: Iterable[str], snapshot: Snapshot) -> CheckFiles:
    """Return the files of a closure; `hidden` are those in its folders that do not belong to it."""
    files = closure_files(closure, snapshot)
    return CheckFiles(
        rules=closure.rules(),
        hidden=tuple(sorted(hidden)),
        digest=digest([*sorted(f"{path}\0{entry}" for path, entry in files.items())]),
    )
