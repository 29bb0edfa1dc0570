"""Puts together, for one revision, the manifests of formats whose files refer to each other."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.sources import LOCK_PATH
from gateval.domain.repository.tree import Tree, TreeEntry
from gateval.formats.gathering import TEXT_LIMIT, Gathered, GatheringContext, Pending, no_foreign
from gateval.formats.parsed import Parsed
from gateval.formats.registry import gather
from gateval.pipeline.manifests.cache import ManifestCache

FOREIGN_LIMIT = 200
"""Files of other repositories that the manifests of a revision may name."""

_LONGEST = 500
"""Characters of a text that may be a path."""


class _Watched(Mapping[str, TreeEntry]):
    """A tree that notes at which paths it was looked, and whether as a whole."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.seen: dict[str, TreeEntry | None] = {}
        self.whole = False

    def __getitem__(self, path: str) -> TreeEntry:
        self.seen[path] = self._tree.get(path)
        return self._tree[path]

    def __contains__(self, path: object) -> bool:
        if isinstance(path, str):
            self.seen[path] = self._tree.get(path)
        return path in self._tree

    def __iter__(self) -> Iterator[str]:
        self.whole = True
        return iter(self._tree)

    def __len__(self) -> int:
        return len(self._tree)


class _Made(NamedTuple):
    """What was gathered, and the entries that it rests on."""

    gathered: Gathered
    seen: Mapping[str, TreeEntry | None]

    def holds_in(self, tree: Tree) -> bool:
        return all(tree.get(path) == entry for path, entry in self.seen.items())


def gathered(parsed: Iterable[Parsed], tree: Tree, cache: ManifestCache) -> Gathered:
    """Return what the files say together that are not manifests by themselves.

    It is made once for all revisions in which nothing differs that was looked at.
    """
    pending = [one for each in parsed for one in each.pending]
    if not pending:
        return Gathered()
    key = ("gathered", *((one.path, tree[one.path].oid) for one in pending))
    made: list[_Made] = cache.once(key, list)
    known = next((one.gathered for one in made if one.holds_in(tree)), None)
    if known is not None:
        return known
    cache.read_all(tree[path] for path in _likely(pending, tree))
    watched = _Watched(tree)

    def content(path: str) -> bytes | None:
        return cache.data(watched[path])

    named: set[str] = set()

    @functools.cache
    def foreign(url: str) -> bytes:
        named.add(url)
        if len(named) > FOREIGN_LIMIT:
            raise ValueError(f"Manifests may name {FOREIGN_LIMIT} files of other repositories.")
        lock = content(LOCK_PATH) if LOCK_PATH in watched and watched[LOCK_PATH].is_file else None
        if cache.registries.foreign is None:
            return no_foreign(url)
        return cache.registries.foreign.read(url, lock, cache.hosts, limit=TEXT_LIMIT)

    around = GatheringContext(
        watched, content, cache.registries, foreign, cache.variables, cache.wants
    )
    found = gather(pending, around)
    if not watched.whole:
        made.append(_Made(found, watched.seen))
    return found


def _likely(pending: Sequence[Pending], tree: Tree) -> Iterator[str]:
    """Yield the tracked files that texts in these documents may name, so that all are read at once.

    Beside them, and in every folder around, stand those that are named by no text.
    """
    for path, document, *_ in pending:
        folder = path.rpartition("/")[0]
        steps = folder.split("/") if folder else []
        roots = ["/".join(steps[:end]) for end in range(len(steps), -1, -1)]
        texts = _texts(document.data if document else None)
        for text in (*texts, path.rpartition("/")[2].rpartition(".")[0] + ".jsonl"):
            if len(text) <= _LONGEST and ("." in text or "/" in text) and "\n" not in text:
                for root in roots:
                    found = resolve_path(root, text.removeprefix("file://").lstrip("/"))
                    if found and found in tree and tree[found].is_file:
                        yield found


def _texts(value: JsonValue) -> Iterator[str]:
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            todo += one.values()
        elif isinstance(one, list):
            todo += one
