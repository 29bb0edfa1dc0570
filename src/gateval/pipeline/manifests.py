"""The files of several revisions, each blob read once and each manifest parsed once.

What somebody takes for read and the gate passes over: a name or a pattern one step aside.

All of it is an error of the revision that holds it. A gate config that nobody reads asks nothing,
and a manifest that nobody reads is an Eval that does not run: either is green without a look.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple, TypeVar, cast

from pydantic import JsonValue

from gateval.candidates.environment import passed_on
from gateval.domain.manifests.evaluation import SCRIPTED_FOLDER, is_sealed
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, GateConfig
from gateval.domain.paths import leads_out, match_any, resolve_path, show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.text import quote
from gateval.domain.tree import (
    LINK_MODE,
    LOCK_PATH,
    GitFile,
    LockedFile,
    Tree,
    TreeEntry,
    git_file,
    read_lock,
)
from gateval.errors import RepositoryError
from gateval.formats.base import (
    TEXT_LIMIT,
    Gathered,
    GatheringContext,
    Parsed,
    Pending,
    Registries,
    no_foreign,
)
from gateval.formats.native.gate_config import gate_config_places
from gateval.formats.native.manifests import looks_like_manifest
from gateval.formats.registry import (
    SUFFIXES,
    ManifestFormat,
    formats_of,
    gather,
    may_be_read,
    read_file,
)
from gateval.formats.yaml_reader import read_documents
from gateval.ports.repository import Repository, Sources

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
        self.starts = config.agents
        self._started = match_any(one.match.removeprefix("/") for one in config.agents)
        self._narrowed = bool(config.manifests)
        self.wants: Callable[[str], bool] = (
            as_plain(match_any(config.manifests)) if config.manifests else lambda _path: True
        )
        """Whether the gate config has manifests looked for at a path."""
        self._blobs: dict[str, bytes | None] = {}
        self._recognised: dict[tuple[str, str], tuple[ManifestFormat, ...]] = {}
        self._parsed: dict[tuple[str, str], Parsed] = {}
        self._shelves: dict[int, TreeFiles] = {}
        self._made: dict[Hashable, object] = {}

    def tree_files(self, tree: Tree) -> TreeFiles:
        """Sort out a tree by names alone: one pass, remembered."""
        if id(tree) not in self._shelves:
            files = {
                p: e
                for p, e in tree.items()
                if may_be_read(p)
                and e.is_file
                and p != GATE_CONFIG_PATH
                and not p.startswith(_SCRIPTED)
                and (not self._narrowed or self.wants(p) or self._started(p))
            }
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

    def refuses_link(self, path: str, target: str) -> bool:
        """Whether a symbolic link must not stand here, where manifests are looked for.

        Its name is that of a manifest, and either the gate config says that manifests are here, or
        the link leads out of the repository.
        """
        if not path.endswith(SUFFIXES) or not self.wants(path):
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


def about_file(path: str, message: str) -> Problem:
    """Return the problem of a file as a whole."""
    return Problem(place=SourceLocation(file=show_path(path)), message=message)


def as_plain(wanted: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return what fits a file, or a sealed one in its place, where `wanted` fits the plain one."""
    return lambda path: wanted(path) or (is_sealed(path) and wanted(path.removesuffix(".age")))


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


def gathered(parsed: Iterable[Parsed], tree: Tree, cache: ManifestCache) -> Gathered:
    """Return what the files say together that are not manifests by themselves.

    It is made once for all revisions in which nothing differs that was looked at.
    """
    pending = [one for each in parsed for one in each.pending]
    if not pending:
        return Gathered()
    key = ("gathered", *((one.path, tree[one.path].oid) for one in pending))
    made: list[tuple[Gathered, Mapping[str, TreeEntry | None]]] = cache.once(key, list)
    for known, seen in made:  # each with the entries that it rests on
        if all(tree.get(path) == entry for path, entry in seen.items()):
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
        watched,
        content,
        cache.registries,
        foreign,
        cache.variables,
        cache.wants,
        cache.starts,
    )
    found = gather(pending, around)
    if not watched.whole:
        made.append((found, watched.seen))
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


_LOCK = f"Run `gateval lock`, and commit {LOCK_PATH}."


class Pinned(NamedTuple):
    """Fulfils `ports.sources.ForeignFiles`: what the lock says, from one of the hosts allowed.

    Without `sources` nothing is fetched; `closed` is the sentence that says why.
    """

    sources: Sources | None
    closed: str = ""

    def read(self, url: str, lock: bytes | None, hosts: Sequence[str], *, limit: int) -> bytes:
        """See the port."""
        file = _allowed(url, hosts)
        locked = read_lock(lock).files.get(url) if lock is not None else None
        if locked is None:
            raise ValueError(f"{quote(url)} is not pinned, so it could change unseen. {_LOCK}")
        if not file.may_be(locked):
            raise ValueError(f"{LOCK_PATH} pins another file for {quote(url)}. {_LOCK}")
        if self.sources is None:
            raise RepositoryError(f"{url} was not read: {self.closed}")
        data = self.sources.read(file.repository, locked.commit, locked.path, limit=limit)
        if not locked.holds(data):
            raise RepositoryError(f"{url} is not what {LOCK_PATH} says.", hint=_LOCK)
        return data


class Pinning:
    """Fulfils `ports.sources.ForeignFiles`: reads what is there now, and notes it in `files`."""

    def __init__(self, sources: Sources) -> None:
        self.files: dict[str, LockedFile] = {}
        self._sources = sources

    def read(self, url: str, lock: bytes | None, hosts: Sequence[str], *, limit: int) -> bytes:
        """See the port; the lock that is there is not asked."""
        del lock
        file = _allowed(url, hosts)
        for ref, path in file.choices:
            commit = self._sources.commit(file.repository, ref)
            if commit is not None:
                data = self._sources.read(file.repository, commit, path, limit=limit)
                digest = hashlib.sha256(data).hexdigest()
                self.files[url] = LockedFile(commit=commit, path=path, sha256=digest)
                return data
        names = " or ".join(quote(ref) for ref, _ in file.choices)
        raise ValueError(f"{file.repository} has no branch or tag {names}. Correct the URL.")


def _allowed(url: str, hosts: Sequence[str]) -> GitFile:
    """Return what a URL names. Raises `ValueError` for a host that no rule allows."""
    file = git_file(url)
    if file.host not in hosts:
        raise ValueError(
            f"{quote(url)} is a file of another repository, and policy.sources of "
            f".github/gateval.yml on the target branch does not name {file.host}. Add it there, or "
            "copy the file into this repository."
        )
    return file


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
