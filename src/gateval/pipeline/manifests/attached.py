"""Reads the files and images that fixtures attach to messages, as part of those fixtures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue import Broken, Catalogue
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixtures.attached import (
    DATA_LIMIT,
    FIXTURE_LIMIT,
    FilePart,
    TextPart,
    attach,
)
from gateval.domain.manifests.fixtures.messages import Part, with_files
from gateval.domain.repository.paths import path_text, resolve_path, show_path
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import Tree
from gateval.domain.text.quoting import quote
from gateval.formats.yaml.document import write_path
from gateval.pipeline.manifests.cache import ManifestCache

TEXTS_LIMIT = 256 * 1024 * 1024
"""Characters of all text files that the fixtures of a revision attach."""

_Key = tuple[str, str, str, str | None]


class WithFiles(NamedTuple):
    """A catalogue whose fixtures hold what they attach, and the files that cannot be attached."""

    catalogue: Catalogue
    problems: tuple[Problem, ...]


def with_attached(catalogue: Catalogue, tree: Tree, cache: ManifestCache) -> WithFiles:
    """Return the catalogue with the files of all messages. A fixture that lacks one is broken."""
    several = [catalogue.fixtures, *(named.values() for named in catalogue.filled.values())]
    attaching = [one for some in several for one in some if any(one.attached())]
    if not attaching:
        return WithFiles(catalogue, ())
    files = _read(attaching, tree, cache)
    made: dict[int, Fixture | Problem] = {}
    left = TEXTS_LIMIT
    for fixture in attaching:
        found = _filled(fixture, files, tree)
        if isinstance(found, Fixture):
            left -= sum(map(len, _texts(found)))
        made[id(fixture)] = found if left >= 0 else _problem(fixture, _first(fixture), _TOO_MUCH)
    problems = dict.fromkeys(one for one in made.values() if isinstance(one, Problem))
    return WithFiles(_replaced(catalogue, made), tuple(problems))


_TOO_MUCH = f"All attached texts together have more than {TEXTS_LIMIT:,} characters. Attach less."


def _read(
    fixtures: Iterable[Fixture], tree: Tree, cache: ManifestCache
) -> Mapping[_Key, Part | ValueError]:
    """Return what each file is, once for all parts that are written alike."""
    wanted: dict[str, dict[_Key, FilePart]] = {}
    for fixture in fixtures:
        for _, part in fixture.attached():
            key, path = _key(fixture, part), _path(fixture, part)
            if path in tree and tree[path].is_file:
                wanted.setdefault(tree[path].oid, {})[key] = part
    found: dict[_Key, Part | ValueError] = {}
    for oid, data in cache.passing(wanted, DATA_LIMIT):
        for key, part in wanted[oid].items():
            try:
                found[key] = attach(part, key[0], oid, data)
            except ValueError as error:
                found[key] = error
    return found


def _filled(
    fixture: Fixture, files: Mapping[_Key, Part | ValueError], tree: Tree
) -> Fixture | Problem:
    paths: dict[str, None] = {}
    digests: list[str] = []
    size = 0
    for place, part in fixture.attached():
        where = write_path(place)
        path, found = _path(fixture, part), files.get(_key(fixture, part))
        if found is None or isinstance(found, ValueError):
            return _problem(fixture, where, str(found or _missing(path, part, tree)))
        paths[path_text(path)] = None
        digests.append(digest(found.model_dump(mode="json", exclude={"path"})))
        size += found.content.size if isinstance(found, FilePart) and found.content else 0
        if size > FIXTURE_LIMIT:
            said = f"All files of a fixture together may have {FIXTURE_LIMIT:,} bytes. Attach less."
            return _problem(fixture, where, said)

    def give(part: FilePart) -> Part:
        found = files[_key(fixture, part)]
        assert not isinstance(found, ValueError)  # noqa: S101 - seen above
        return found

    return fixture.model_copy(
        update={
            "input": fixture.input.with_files(give),
            "turns": tuple(with_files(turn, give) for turn in fixture.turns),
            "files": tuple(dict.fromkeys((*fixture.files, *paths))),
            "digest": digest([fixture.digest, *digests]),
        }
    )


def _missing(path: str, part: FilePart, tree: Tree) -> str:
    if not path:
        return f"{quote(part.path)} leads out of the repository."
    if path in tree:
        return f"{show_path(path)} is a symbolic link or a submodule. Put the file itself there."
    return f"There is no file {show_path(path)} in this revision. Add it, or track it with git."


def _path(fixture: Fixture, part: FilePart) -> str:
    return resolve_path(fixture.folder, part.path) or ""


def _key(fixture: Fixture, part: FilePart) -> _Key:
    return _path(fixture, part), part.type, part.path, part.media_type


def _first(fixture: Fixture) -> str:
    return write_path(next(fixture.attached())[0])


def _texts(fixture: Fixture) -> Iterator[str]:
    contents = [*(one.content for one in fixture.input.messages), *fixture.turns]
    for content in contents:
        if not isinstance(content, str):
            yield from (part.text for part in content if isinstance(part, TextPart))


def _problem(fixture: Fixture, where: str, message: str) -> Problem:
    place = fixture.places.get(where, fixture.place)
    return Problem(place=place, path=f"{where}.path", message=message)


def _replaced(catalogue: Catalogue, made: Mapping[int, Fixture | Problem]) -> Catalogue:
    def whole(fixtures: Iterable[Fixture]) -> tuple[Fixture, ...]:
        found = (made.get(id(one), one) for one in fixtures)
        return tuple(one for one in found if isinstance(one, Fixture))

    broken = {
        one.name: Broken(
            problem=problem,
            kind="EvalFixture",
            name=one.family or one.name,
            agent=one.target_agent or "",
            labels=one.labels,
        )
        for one in catalogue.fixtures
        if isinstance(problem := made.get(id(one)), Problem)
    }
    return replace(
        catalogue,
        fixtures=whole(catalogue.fixtures),
        filled={
            name: {one.name: one for one in whole(named.values())}
            for name, named in catalogue.filled.items()
        },
        broken=(*catalogue.broken, *broken.values()),
    )
