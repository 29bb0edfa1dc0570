"""The files of several revisions, each blob read once and each manifest parsed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple, TypeVar, cast

from gateval.candidates.environment import passed_on
from gateval.domain.manifests.policy.gate_config import GATE_CONFIG_PATH, GateConfig
from gateval.domain.manifests.scripted import SCRIPTED_FOLDER
from gateval.domain.manifests.sealed import is_sealed
from gateval.domain.repository.paths import leads_out
from gateval.domain.repository.patterns import match_any
from gateval.domain.repository.tree import LINK_MODE, Tree, TreeEntry
from gateval.formats.parsed import Parsed
from gateval.formats.registries import Registries
from gateval.formats.registry import SUFFIXES, ManifestFormat, formats_of, read_file
from gateval.ports.repository import Repository

Made = TypeVar("Made")

_SCRIPTED = f"{SCRIPTED_FOLDER}/"
_AT_ONCE = 8


class TreeFiles(NamedTuple):
    """What of a tree may be manifests, going by the names, and its symbolic links."""

    tree: Tree
    files: Mapping[str, TreeEntry]
    links: Mapping[str, TreeEntry]


class ManifestCache:
    """Reads blobs and parses manifests on demand, and remembers both.

    `load` must have seen a tree before its files are asked for. `variables` are those of the
    environment that manifests may name.
    """

    FILE_LIMIT: ClassVar[int] = 16 * 1024 * 1024
    """Bytes of the largest file that is looked at, to see whether it is a manifest."""

    def __init__(self, repository: Repository, registries: Registries, config: GateConfig) -> None:
        self._repository = repository
        self.registries = registries
        self.variables = passed_on(registries.environ, config.policy.candidate_env)
        self.hosts = config.policy.sources
        self._narrowed = bool(config.manifests)
        self._wanted: Callable[[str], bool] = (
            as_plain(match_any(config.manifests)) if config.manifests else lambda _path: True
        )
        self._blobs: dict[str, bytes | None] = {}
        self._recognised: dict[tuple[str, str], tuple[ManifestFormat, ...]] = {}
        self._parsed: dict[tuple[str, str], Parsed] = {}
        self._shelves: dict[int, TreeFiles] = {}
        self._made: dict[Hashable, object] = {}

    def tree_files(self, tree: Tree) -> TreeFiles:
        """Sort out a tree by names alone: one pass, remembered."""
        if id(tree) not in self._shelves:
            files = {p: e for p, e in tree.items() if p.endswith(SUFFIXES) and self._may_be(p, e)}
            links = {path: entry for path, entry in tree.items() if entry.mode == LINK_MODE}
            self._shelves[id(tree)] = TreeFiles(tree, files, links)
        return self._shelves[id(tree)]

    def load(self, tree: Tree) -> None:
        """Read at once all files of a tree that may be manifests, and all symbolic links."""
        tree_files = self.tree_files(tree)
        self.read_all([*tree_files.files.values(), *tree_files.links.values()])

    def is_manifest(self, path: str, entry: TreeEntry) -> bool:
        """Whether a file that may be a manifest by its name is one by its content."""
        return bool(self._formats(path, entry))

    def may_matter(self, path: str, entry: TreeEntry) -> bool:
        """Whether other files may matter to a manifest: it can hold an Agent, a check of one's own,
        or messages with files. Judged without parsing; false is certain.
        """
        data = self.data(entry)
        return data is not None and any(
            one.may_hold_agent(data) or one.may_name_files(data)
            for one in self._formats(path, entry)
        )

    def targets(self, tree: Tree) -> frozenset[str | None]:
        """Return the Agents that Evals of a tree are about, judged without parsing.

        None stands for one that only a reader can tell.
        """
        found: set[str | None] = set()
        for path, entry in self.tree_files(tree).files.items():
            for one in self._formats(path, entry):
                found |= one.targets(self.data(entry) or b"")
        return frozenset(found)

    def _formats(self, path: str, entry: TreeEntry) -> tuple[ManifestFormat, ...]:
        key = (path, entry.oid)
        if key not in self._recognised:
            data = self.data(entry)
            self._recognised[key] = formats_of(path, data) if data is not None else ()
        return self._recognised[key]

    def _may_be(self, path: str, entry: TreeEntry) -> bool:
        return (
            entry.is_file
            and path != GATE_CONFIG_PATH
            and not path.startswith(_SCRIPTED)
            and (not self._narrowed or self._wanted(path))
        )

    def wants(self, path: str) -> bool:
        """Whether the gate config has manifests looked for at a path."""
        return self._wanted(path)

    def refuses_link(self, path: str, target: str) -> bool:
        """Whether a symbolic link must not stand here, where manifests are looked for.

        Its name is that of a manifest, and either the gate config says that manifests are here, or
        the link leads out of the repository.
        """
        if not path.endswith(SUFFIXES) or not self._wanted(path):
            return False
        return self._narrowed or leads_out(path, target)

    def data(self, entry: TreeEntry) -> bytes | None:
        """The contents of a file; None when it is larger than `FILE_LIMIT`."""
        if entry.oid not in self._blobs:
            self.read_all([entry])
        return self._blobs[entry.oid]

    def read_all(self, entries: Iterable[TreeEntry]) -> None:
        """Read several files at once, so that asking for each costs nothing."""
        missing = {entry.oid for entry in entries} - self._blobs.keys()
        if missing:
            self._blobs.update(self._repository.blobs(sorted(missing), limit=self.FILE_LIMIT))

    def parse(self, path: str, entry: TreeEntry) -> Parsed | None:
        """The manifests of a file, or None when no manifest format recognises it."""
        key = (path, entry.oid)
        if key not in self._parsed:
            data = self.data(entry) or b""
            found = read_file(path, data, self.registries, self._formats(path, entry))
            if found is None:
                return None
            self._parsed[key] = found
        return self._parsed[key]

    def passing(self, oids: Iterable[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield the contents of these blobs, a few held at a time; None for one above `limit`."""
        wanted = sorted(oids)
        for at in range(0, len(wanted), _AT_ONCE):
            yield from self._repository.blobs(wanted[at : at + _AT_ONCE], limit=limit).items()

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what `make` gives, made once for each key."""
        if key not in self._made:
            self._made[key] = make()
        return cast("Made", self._made[key])


def as_plain(wanted: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return what fits a file, or a sealed one in its place, where `wanted` fits the plain one."""
    return lambda path: wanted(path) or (is_sealed(path) and wanted(path.removesuffix(".age")))
