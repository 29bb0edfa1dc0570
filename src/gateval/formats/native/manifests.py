"""The native manifest format: YAML documents with a known apiVersion and kind.

A file is ours when its text holds one of our apiVersions, spelled plainly, or nearly so (see
`versions.py`). In it, documents of other apiVersions are left alone, and so are kinds of pai.io/v1
that the gate has no use for (ModelProvider, AgentWorkload, ...). Two manifests of one kind may not
share a name, whatever their namespace. `status` of pai.io/v1 documents is left alone, because
exports carry it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic import JsonValue

from gateval.domain.manifests.catalogue import Broken
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem, nearest, sort_problems
from gateval.domain.text.quoting import quote
from gateval.formats.gathering import Pending
from gateval.formats.native.broken import broken_manifest
from gateval.formats.native.cases.template import TemplateRead, is_template, read_template
from gateval.formats.native.cases.written import Template
from gateval.formats.native.kinds.fixture import FIXTURE
from gateval.formats.native.kinds.registry import KINDS
from gateval.formats.native.markers import looks_like_manifest
from gateval.formats.native.versions import has_group, is_like_ours
from gateval.formats.native.written import (
    API_VERSIONS,
    NATIVE_VERSION,
    PAI_VERSION,
    Manifest,
    ManifestKind,
    Read,
    Source,
)
from gateval.formats.parsed import Parsed
from gateval.formats.problems.sentences import expected_sentence, missing_key, unknown_word
from gateval.formats.problems.validation import PROBLEM_LIMIT, problem_at
from gateval.formats.registries import Registries
from gateval.formats.yaml.document import Document
from gateval.formats.yaml.reader import read_documents

_PAI_GROUP = PAI_VERSION.partition("/")[0]


def read_manifests(path: str, data: bytes, registries: Registries) -> Parsed:
    """Return the manifests of a file and all its problems; a file that is not ours gives nothing.

    `path` is the tracked path, `os.fsdecode`d. A manifest with problems is not returned.
    """
    if not looks_like_manifest(data):
        return Parsed((), ())
    documents, yaml_problems = read_documents(path, data)
    found = _Found()
    may_be_template = b"{{" in data or b"cases" in data
    foreign: set[Problem] = set()
    left = False
    for document in documents:
        if len(found.problems) > PROBLEM_LIMIT:
            found.broken.append(Broken(found.problems[-1]))
            break
        kind = _kind_of(document)
        if kind is None:
            foreign.update(document.problems)
            left = left or document.data is not None
        elif isinstance(kind, Problem):
            found.problems.append(kind)
            found.broken.append(Broken(kind))
        else:
            found.take(kind, Source(path, document, registries, may_be_template))
    ours = [problem for problem in yaml_problems if problem not in foreign]
    if (found.manifests or found.pending or found.problems or ours) and not _is_utf8(path):
        return Parsed((), (_rename(path),), (Broken(_rename(path)),))
    named = {problem for document in documents for problem in document.problems}
    return Parsed(
        manifests=tuple(found.manifests),
        problems=_tidy(ours, found.problems),
        broken=(*found.broken, *(Broken(one) for one in ours if one not in named)),
        templates=tuple(found.templates),
        pending=tuple(found.pending),
        left=left and bool(found.manifests or found.templates or found.pending or found.problems),
    )


@dataclass
class _Found:
    """Grows document by document."""

    manifests: list[Manifest] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    templates: list[Template] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)

    def take(self, kind: ManifestKind, source: Source) -> None:
        """Read one document."""
        read, document = _read(kind, source), source.document
        self.problems += read.problems
        manifest = read[0]
        if manifest is None or document.problems:
            told = (*document.problems, *read.problems)
            self.broken.append(broken_manifest(kind.name, document, told))
        elif isinstance(manifest, Template):
            self.templates.append(manifest)
        elif isinstance(manifest, Pending):
            self.pending.append(manifest)
        else:
            self.manifests.append(manifest)
            self.manifests += read.fixtures if isinstance(read, Read) else ()


def _read(kind: ManifestKind, source: Source) -> Read | TemplateRead:
    if kind is FIXTURE and is_template(source):
        return read_template(source)
    return kind.read(source)


def _kind_of(document: Document) -> ManifestKind | Problem | None:
    """The document's kind, or what is wrong with its head, or None if it is not ours."""
    head = document.data
    if not isinstance(head, dict):
        return None
    version, kind = head.get("apiVersion"), head.get("kind")
    if version not in API_VERSIONS:
        return _other_version(document, version, kind)
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    if kind is None:
        return problem_at(document, ("kind",), missing_key("kind"))
    if not isinstance(kind, str):
        return problem_at(document, ("kind",), expected_sentence(["text"], kind))
    if version == PAI_VERSION and not _is_slip(kind):
        return None
    return problem_at(document, ("kind",), unknown_word("kind", kind, list(KINDS)))


def _other_version(document: Document, version: JsonValue, kind: JsonValue) -> Problem | None:
    """Other people's documents are left alone, but not ours with a version that does not exist."""
    ours = isinstance(kind, str) and (kind in KINDS or _is_slip(kind))
    if not isinstance(version, str):
        if not ours or not isinstance(document.data_at(("spec",)), dict):
            return None
        wrong = expected_sentence(["text"], version)
        if version is None:
            wrong = f"{missing_key('apiVersion')} Write {NATIVE_VERSION}."
        return problem_at(document, ("apiVersion",), wrong)
    if is_like_ours(version):
        meant = ours or not version.casefold().startswith(_PAI_GROUP)
    else:
        meant = ours and kind != "Agent" and not has_group(version)
    if not meant:
        return _list_of_ours(document, kind)
    near = nearest(version, API_VERSIONS) or f" Write {NATIVE_VERSION}."
    message = f"Unknown apiVersion {quote(version)}.{near}"
    return problem_at(document, ("apiVersion",), message)


def _list_of_ours(document: Document, kind: JsonValue) -> Problem | None:
    """Return what to write in place of a `List` of Kubernetes that holds manifests of ours."""
    items = document.data_at(("items",)) if kind == "List" else None
    for one in items if isinstance(items, list) else ():
        if isinstance(one, dict) and one.get("apiVersion") in API_VERSIONS:
            said = "Manifests in a List are not read. Write each as a document, with --- between."
            return problem_at(document, ("kind",), said)
    return None


def _is_slip(kind: str) -> bool:
    """Whether an unknown kind is one of ours, misspelled: `EvalFixtures`, `agent`."""
    folded = kind.casefold()
    return any(folded.removesuffix("s") == known.casefold() for known in KINDS)


def _is_utf8(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _rename(path: str) -> Problem:
    return Problem(
        place=Place(file=show_path(path)),
        message="The name of this file is not UTF-8, so results could not name it. Rename it.",
    )


def _tidy(yaml_problems: Iterable[Problem], problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return all in order, at most `PROBLEM_LIMIT`, without what only follows from bad YAML."""
    first = sort_problems(yaml_problems)
    spoiled = {problem.place for problem in first}
    rest = (problem for problem in problems if problem.place not in spoiled)
    found = sort_problems((*first, *rest))
    if len(found) <= PROBLEM_LIMIT:
        return found
    more = "Further problems in this file are not shown."
    return (*found[:PROBLEM_LIMIT], Problem(place=found[PROBLEM_LIMIT].place, message=more))
