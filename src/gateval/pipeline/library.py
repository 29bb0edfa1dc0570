"""The files of several revisions, each blob read once and each manifest parsed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, GateConfig
from gateval.domain.manifests.scripted import SCRIPTED_FOLDER
from gateval.domain.patterns import match_any
from gateval.domain.tree import Entry, Tree
from gateval.formats.manifests import Parsed
from gateval.formats.registries import Registries
from gateval.formats.registry import SUFFIXES, Format, format_of
from gateval.ports import Repository

_SCRIPTED = f"{SCRIPTED_FOLDER}/"


class Library:
    """Reads blobs and parses manifests on demand, and remembers both.

    `load` must have seen a tree before its files are asked for.
    """

    FILE_LIMIT: ClassVar[int] = 16 * 1024 * 1024
    """Bytes of the largest file that is looked at, to see whether it is a manifest."""

    def __init__(self, repository: Repository, registries: Registries, config: GateConfig) -> None:
        self._repository = repository
        self._registries = registries
        self._narrowed = bool(config.manifests)
        self._wanted: Callable[[str], bool] = (
            match_any(config.manifests) if config.manifests else lambda _path: True
        )
        self._blobs: dict[str, bytes | None] = {}
        self._parsed: dict[tuple[str, str], Parsed] = {}

    def load(self, trees: Iterable[Tree]) -> None:
        """Read at once all blobs that may be manifests, and all symbolic links."""
        oids = {
            entry.oid
            for tree in trees
            for path, entry in tree.items()
            if entry.is_symlink or self.is_candidate(path, entry)
        }
        self._fetch(oids)

    def is_manifest(self, path: str, entry: Entry) -> bool:
        """Whether a manifest format recognises the file."""
        return self.is_candidate(path, entry) and self._format(path, entry) is not None

    def may_hold_agent(self, path: str, entry: Entry) -> bool:
        """Whether a manifest can hold an Agent, judged without parsing; false is certain."""
        found, data = self._format(path, entry), self.data(entry)
        return found is not None and data is not None and found.may_hold_agent(data)

    def _format(self, path: str, entry: Entry) -> Format | None:
        data = self.data(entry)
        return format_of(path, data) if data is not None else None

    def is_candidate(self, path: str, entry: Entry) -> bool:
        """Whether a file may be a manifest, going by its name alone."""
        return (
            path.endswith(SUFFIXES)
            and entry.is_file
            and path != GATE_CONFIG_PATH
            and not path.startswith(_SCRIPTED)
            and (not self._narrowed or self._wanted(path))
        )

    def stray_link(self, path: str, entry: Entry) -> bool:
        """Whether a symbolic link stands where the gate config says that manifests are."""
        return (
            self._narrowed and entry.is_symlink and path.endswith(SUFFIXES) and self._wanted(path)
        )

    def data(self, entry: Entry) -> bytes | None:
        """The contents of a file; None when it is larger than `FILE_LIMIT`."""
        if entry.oid not in self._blobs:
            self._fetch({entry.oid})
        return self._blobs[entry.oid]

    def read_all(self, entries: Iterable[Entry]) -> None:
        """Read several files at once, so that asking for each costs nothing."""
        self._fetch({entry.oid for entry in entries})

    def parse(self, path: str, entry: Entry) -> Parsed | None:
        """The manifests of a file, or None when no manifest format recognises it."""
        key = (path, entry.oid)
        if key not in self._parsed:
            found, data = self._format(path, entry), self.data(entry)
            if found is None or data is None:
                return None
            self._parsed[key] = found.read(path, data, self._registries)
        return self._parsed[key]

    def _fetch(self, oids: set[str]) -> None:
        missing = oids - self._blobs.keys()
        if missing:
            found: Mapping[str, bytes | None] = self._repository.blobs(
                sorted(missing), limit=self.FILE_LIMIT
            )
            self._blobs.update(found)
