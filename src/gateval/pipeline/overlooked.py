"""What somebody takes for read and the gate passes over: a name or a pattern one step aside.

All of it is an error of the revision that holds it. A gate config that nobody reads asks nothing,
and a manifest that nobody reads is an Eval that does not run: either is green without a look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, GateConfig
from gateval.domain.paths import match_any, show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.text import quote
from gateval.domain.tree import Tree
from gateval.formats.base import Registries
from gateval.formats.native.gate_config import gate_config_places
from gateval.formats.native.manifests import looks_like_manifest
from gateval.formats.registry import SUFFIXES, formats_of
from gateval.formats.yaml_reader import read_documents
from gateval.pipeline.manifests import ManifestCache, about_file, as_plain
from gateval.ports.repository import Repository

_OTHER_ENDING = re.compile(
    r"\.jsonc?$|\.(?:ya?ml|json)\.(?:tmpl|tpl|template|j2|jinja2?|gotmpl|erb|mustache|hbs|liquid|in|txt)$"
)
"""What files of manifests are called that other programs read, or make others of."""

_FIRST_LINE = re.compile(
    rb"^[ \t]*[\"']?apiVersion[\"']?[ \t]*:[ \t]*[\"']?(?:gateval|pai\.io)/v", re.M
)
_OURS = ("gateval/v", "pai.io/v")
_LOOKED_AT = 2_000
"""Files with another ending that are opened."""

_LIKE_THE_CONFIG = re.compile(r"(?:\.github/|\.gateval/)?\.?gateval\.ya?ml", re.IGNORECASE)
_KEYS = frozenset(GateConfig.model_fields)
_NO_CONFIG = frozenset({"apiVersion", "kind", "jobs"})


def overlooked(
    repository: Repository,
    registries: Registries,
    tree: Tree,
    own: GateConfig,
    config_path: str = GATE_CONFIG_PATH,
) -> tuple[Problem, ...]:
    """Return what in a tree looks as if it were read; `own` is the gate config of this very tree.

    That is a gate config of another name or in another folder, a manifest whose ending has capital
    letters, and a pattern of `manifests` that fits nothing where there are manifests elsewhere.
    """
    wanted = match_any(own.manifests) if own.manifests else lambda _path: True
    configs = [path for path in tree if path != config_path and _LIKE_THE_CONFIG.fullmatch(path)]
    folded = [
        path
        for path in tree
        if not path.endswith(SUFFIXES) and path.lower().endswith(SUFFIXES) and wanted(path)
    ]
    contents = _contents(repository, tree, [*configs, *folded])
    return (
        *_misnamed([path for path in configs if path in contents], contents),
        *_folded([path for path in folded if path in contents], contents),
        *_unfit(repository, registries, tree, own, config_path),
    )


def _contents(repository: Repository, tree: Tree, paths: Iterable[str]) -> Mapping[str, bytes]:
    files = {path: tree[path].oid for path in paths if tree[path].is_file}
    if not files:
        return {}
    blobs = repository.blobs(sorted(set(files.values())), limit=ManifestCache.FILE_LIMIT)
    found = {path: blobs[oid] for path, oid in files.items()}
    return {path: data for path, data in found.items() if data is not None}


def _misnamed(paths: Iterable[str], contents: Mapping[str, bytes]) -> Iterator[Problem]:
    for path in paths:
        documents, _ = read_documents(path, contents[path])
        keys = {key for one in documents if isinstance(one.data, dict) for key in one.data}
        if keys & _NO_CONFIG or not (keys & _KEYS or path.startswith(".github/")):
            continue
        yield about_file(
            path,
            "This is not the gate config, and holds nothing: the gate reads "
            f"{GATE_CONFIG_PATH}. Rename it.",
        )


def _folded(paths: Iterable[str], contents: Mapping[str, bytes]) -> Iterator[Problem]:
    for path in paths:
        if formats_of(path.lower(), contents[path]):
            yield about_file(
                path,
                "This is a manifest, and is not read: the names of those that are end in "
                "small letters, as .yaml. Rename it.",
            )


def _unfit(
    repository: Repository,
    registries: Registries,
    tree: Tree,
    own: GateConfig,
    config_path: str,
) -> Iterator[Problem]:
    unfit = [
        (at, pattern)
        for at, pattern in enumerate(own.manifests)
        if not any(map(as_plain(match_any([pattern])), tree))
    ]
    if not unfit:
        return
    wanted = match_any(own.manifests)
    cache = ManifestCache(repository, registries, GateConfig())
    cache.load(tree)
    read = (
        path
        for path, entry in cache.tree_files(tree).files.items()
        if not wanted(path) and (found := cache.parse(path, entry)) and not found.empty
    )
    elsewhere = next(read, None)  # a manifest that no pattern fits
    if elsewhere is None:
        return
    text = _contents(repository, tree, [config_path]).get(config_path, b"")
    places = gate_config_places(config_path, text)
    for at, pattern in unfit:
        yield Problem(
            place=places.get("manifests", SourceLocation(file=show_path(config_path))),
            path=f"manifests[{at}]",
            message=f"{quote(pattern)} fits no tracked file of this revision, and there are "
            f"manifests elsewhere: {show_path(elsewhere)}. Correct the pattern.",
        )


def other_endings(repository: Repository, tree: Tree) -> Iterator[Problem]:
    """Yield a warning for each file of a tree that looks like a manifest and has another ending."""
    paths = [path for path in tree if _OTHER_ENDING.search(path)][:_LOOKED_AT]
    for path, data in _contents(repository, tree, paths).items():
        if _is_manifest(path, data):
            yield about_file(
                path,
                "This looks like a manifest, and is not read: the names of those that are "
                "end in .yaml or .yml. Rename it, or track what is made of it.",
            )


def _is_manifest(path: str, data: bytes) -> bool:
    if not path.endswith((".json", ".jsonc")):
        return _FIRST_LINE.search(data) is not None
    if not looks_like_manifest(data):
        return False
    documents, _ = read_documents(path, data)
    found = [one.data for one in documents if isinstance(one.data, dict)]
    return any("kind" in one and str(one.get("apiVersion")).startswith(_OURS) for one in found)


def ignored_manifests(files: Mapping[str, bytes]) -> Iterator[Problem]:
    """Yield a warning for each file that git ignores and that looks like a manifest."""
    for path, data in sorted(files.items()):
        if looks_like_manifest(data) and _FIRST_LINE.search(data):
            yield about_file(
                path,
                "This looks like a manifest, and git ignores it, so it is not read. Track "
                "it (`git add --force`), or correct .gitignore.",
            )
