"""Puts together, for one revision, the manifests of formats whose files refer to each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue

from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.tree import Tree
from gateval.formats.gathering import Around, Gathered, Pending
from gateval.formats.native.manifests import Parsed
from gateval.formats.registry import gather
from gateval.pipeline.manifest_cache import ManifestCache

_LONGEST = 500
"""Characters of a text that may be a path."""


def gathered(parsed: Iterable[Parsed], tree: Tree, cache: ManifestCache) -> Gathered:
    """Return what the files say together that are not manifests by themselves."""
    pending = [one for each in parsed for one in each.pending]
    if not pending:
        return Gathered()
    cache.read_all(tree[path] for path in _likely(pending, tree))

    def content(path: str) -> bytes | None:
        return cache.data(tree[path])

    around = Around(tree, content, cache.registries, cache.variables)
    return gather(pending, around)


def _likely(pending: Sequence[Pending], tree: Tree) -> Iterator[str]:
    """Yield the tracked files that texts in these documents may name, so that all are read at once.

    Beside them, and in every folder around, stand those that are named by no text.
    """
    for path, document in pending:
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
