"""The native manifest format: YAML documents with a known apiVersion and kind.

A file is ours when its text holds one of our apiVersions, spelled plainly, or nearly so (see
`almost_ours`). In it, documents of other apiVersions are left alone, and so are kinds of pai.io/v1
that the gate has no use for (ModelProvider, AgentWorkload, ...). Two manifests of one kind may not
share a name, whatever their namespace. `status` of pai.io/v1 documents is left alone, because
exports carry it.

What is almost ours is an error, never passed over: an Eval that vanishes by one wrong letter is a
gate that looks at nothing. What belongs to others is left alone: Kubernetes' own groups hold no
dot and none of our kinds, and every other group there has to hold one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache

from pydantic import JsonValue

from gateval.domain.manifests.catalogue import Broken, ManifestReference
from gateval.domain.manifests.evaluation import EVAL_KINDS
from gateval.domain.manifests.fixture import OWN_CHECKS, Fixture
from gateval.domain.paths import nearest, show_path
from gateval.domain.problems import Problem, SourceLocation, sort_problems
from gateval.domain.strict_json import list_of, string_of
from gateval.domain.text import quote
from gateval.formats.base import (
    API_VERSIONS,
    NATIVE_VERSION,
    PAI_VERSION,
    Manifest,
    Parsed,
    Pending,
    Registries,
    Source,
    Template,
)
from gateval.formats.native.case_templates import is_template, read_template
from gateval.formats.native.fixture import FIXTURE
from gateval.formats.native.written import KINDS, ManifestKind, manifest_kind
from gateval.formats.problems import (
    PROBLEM_LIMIT,
    expected_sentence,
    missing_key,
    problem_at,
    unknown_word,
)
from gateval.formats.yaml_document import Document, DocumentPath, write_path
from gateval.formats.yaml_reader import read_documents


def broken_manifest(kind: str, document: Document, problems: Sequence[Problem]) -> Broken:
    """Return what such a manifest says of itself; nothing if its YAML is ambiguous."""
    name = document.data_at(("metadata", "name"))
    agent, labels = document.data_at(("spec", "targetAgent")), None
    metadata = document.data_at(("metadata",))
    if document.problems:
        agent = None
    elif isinstance(metadata, dict) and isinstance(given := metadata.get("labels", {}), dict):
        labels = {key: str(value) for key, value in given.items()}
    return Broken(
        problem=problems[0],
        kind=kind,
        name=string_of(name),
        agent=string_of(agent),
        labels=labels,
        references=_references(document, problems)
        if kind in EVAL_KINDS and not document.problems
        else (),
    )


def _references(document: Document, problems: Sequence[Problem]) -> tuple[ManifestReference, ...]:
    """Return the names in a broken Eval, so that all its problems are told in one go."""
    fixtures = document.data_at(("spec", "fixtures"))
    named: list[tuple[str, DocumentPath]] = [
        ("Agent", ("spec", "targetAgent")),
        ("JudgeCalibration", ("spec", "judge", "calibration")),
    ]
    if isinstance(fixtures, list):
        named += [("EvalFixture", ("spec", "fixtures", index)) for index in range(len(fixtures))]
    told = {problem.place for problem in problems}
    return tuple(
        ManifestReference(kind, name, write_path(path), document.key_place(path))
        for kind, path in named
        if isinstance(name := document.data_at(path), str) and document.place(path) not in told
    )


_GROUPS = ("gateval", "pai.io")
_KNOWN = ("gateval/v1", "pai.io/v1")
_ALIKE = 0.85
_LONGEST = 80
"""Characters of an apiVersion that may be ours."""

_VERSION = re.compile(rb"apiVersion[\"']?[ \t]*:[ \t]*[\"']?([^\s\"',}#]{1,%d})" % _LONGEST)
_OUR_KIND = rb"kind[\"']?[ \t]*:[ \t]*[\"']?(?:%s)[\"']?[ \t]*(?:[\r\n,}#]|\Z)"
_KIND = re.compile(_OUR_KIND % b"Agent|Eval|EvalFixture|JudgeCalibration|Benchmark|Experiment")
_PECULIAR = re.compile(_OUR_KIND % b"Eval|EvalFixture|JudgeCalibration")


def almost_ours(data: bytes) -> bool:
    """Whether a file may hold a document of ours with a typo in its apiVersion, or without any."""
    if b"kind" not in data:
        return False
    found = set(_VERSION.findall(data)) if b"apiVersion" in data else set()
    versions = {version.decode("utf-8", "replace") for version in found}
    if not versions:
        return _KIND.search(data) is not None
    if any(map(is_like_ours, versions)):
        return True
    return not all(map(has_group, versions)) and _PECULIAR.search(data) is not None


@lru_cache(maxsize=1024)
def is_like_ours(version: str) -> bool:
    """Whether an apiVersion is one of ours, another version of ours, or nearly so."""
    if len(version) > _LONGEST:
        return False
    folded = version.casefold()
    group = folded.partition("/")[0]
    return group in _GROUPS or any(
        SequenceMatcher(None, folded, known).ratio() >= _ALIKE for known in _KNOWN
    )


def has_group(version: str) -> bool:
    """Whether an apiVersion names a group with a dot, as every product but Kubernetes has to."""
    return "." in version.partition("/")[0]


_MARKERS = (b"gateval/v", b"pai.io/v1")
_WIDE_MARKERS = tuple(
    marker.decode().encode(encoding)
    for marker in _MARKERS
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
)
_AGENT = re.compile(rb"(?<![A-Za-z0-9])Agent(?![A-Za-z0-9])")
_NAMES_FILES = tuple(word.encode() for word in (*OWN_CHECKS, "playground"))
_CHECK = re.compile(rb"(?<![A-Za-z0-9])(?:" + b"|".join(_NAMES_FILES) + rb")(?![A-Za-z0-9])")
_MESSAGES = re.compile(rb"(?<![A-Za-z0-9])(?:messages|turns)(?![A-Za-z0-9])")
_WITH_CHECKS = (b"EvalFixture", b"Benchmark")
_TARGET = re.compile(
    rb"targetAgent[\"']?[ \t]*:[ \t]*[\"']?([a-z0-9.-]+)[\"']?[ \t]*(?=[\r\n,}#]|\Z)"
)
_ESCAPE = re.compile(rb"\\[xuU\r\n]")


def looks_like_manifest(data: bytes) -> bool:
    """Whether the text holds `pai.io/v1` or any `gateval/v…` anywhere, or nearly so.

    Versions of ours that do not exist are let in, so that they are refused and not passed over;
    and so are files in UTF-16 and UTF-32.
    """
    if any(marker in data for marker in _MARKERS) or almost_ours(data):
        return True
    return b"\0" in data and any(marker in data for marker in _WIDE_MARKERS)


def may_hold_agent(data: bytes) -> bool:
    """Whether a manifest file can hold an Agent, told without parsing; false is certain.

    `kind: Agent` needs the word by itself, or an escape that can spell it or joins two lines. An
    Experiment may be about a function, which is an Agent then. What is in UTF-16 or UTF-32 is for
    the reader to refuse.
    """
    if b"Experiment" in data or b"\0" in data:
        return True
    if data.count(b"Agent") > data.count(b"targetAgent") and _AGENT.search(data) is not None:
        return True
    return b"\\" in data and _ESCAPE.search(data) is not None


def targets(data: bytes) -> frozenset[str | None]:
    """Return the Agents that Evals in a manifest file are about, told without parsing.

    None stands for one that only a reader can tell.
    """
    found = [name.decode() for name in _TARGET.findall(data)]
    unclear = [None] if len(found) < data.count(b"targetAgent") else []
    return frozenset([*found, *unclear])


def may_name_files(data: bytes) -> bool:
    """Whether a manifest file can hold an own check, a playground, or messages with files, told
    without parsing; false is certain.

    `type: script`, `playground:` and `path:` need the word by itself and a fixture, or an escape
    that can spell them.
    """
    if any(kind in data for kind in _WITH_CHECKS):
        if any(word in data for word in _NAMES_FILES) and _CHECK.search(data) is not None:
            return True
        if b"path" in data and _MESSAGES.search(data) is not None:
            return True
    return b"\\" in data and _ESCAPE.search(data) is not None


_NO_UTF8 = re.compile("[\ud800-\udfff]")


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
    if (found.manifests or found.pending or found.problems or ours) and _NO_UTF8.search(path):
        said = "The name of this file is not UTF-8, so results could not name it. Rename it."
        rename = Problem(place=SourceLocation(file=show_path(path)), message=said)
        return Parsed((), (rename,), (Broken(rename),))
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
        document = source.document
        manifest: Manifest | Template | Pending | None
        fixtures: tuple[Fixture, ...] = ()
        if kind is FIXTURE and is_template(source):
            manifest, problems = read_template(source)
        else:
            manifest, problems, fixtures = kind.read(source)
        self.problems += problems
        if manifest is None or document.problems:
            told = (*document.problems, *problems)
            self.broken.append(broken_manifest(kind.name, document, told))
        elif isinstance(manifest, Template):
            self.templates.append(manifest)
        elif isinstance(manifest, Pending):
            self.pending.append(manifest)
        else:
            self.manifests += (manifest, *fixtures)


def _kind_of(document: Document) -> ManifestKind | Problem | None:
    """The document's kind, or what is wrong with its head, or None if it is not ours."""
    head = document.data
    if not isinstance(head, dict):
        return None
    version, kind = head.get("apiVersion"), head.get("kind")
    if version not in API_VERSIONS:
        return _other_version(document, version, kind)
    if isinstance(kind, str) and kind in KINDS:
        return manifest_kind(kind)
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
        meant = ours or not version.casefold().startswith("pai.io")
    else:
        meant = ours and kind != "Agent" and not has_group(version)
    if not meant:
        return _list_of_ours(document, kind)
    near = nearest(version, API_VERSIONS) or f" Write {NATIVE_VERSION}."
    message = f"Unknown apiVersion {quote(version)}.{near}"
    return problem_at(document, ("apiVersion",), message)


def _list_of_ours(document: Document, kind: JsonValue) -> Problem | None:
    """Return what to write in place of a `List` of Kubernetes that holds manifests of ours."""
    for one in list_of(document.data_at(("items",)) if kind == "List" else None):
        if isinstance(one, dict) and one.get("apiVersion") in API_VERSIONS:
            said = "Manifests in a List are not read. Write each as a document, with --- between."
            return problem_at(document, ("kind",), said)
    return None


def _is_slip(kind: str) -> bool:
    """Whether an unknown kind is one of ours, misspelled: `EvalFixtures`, `agent`."""
    folded = kind.casefold()
    return any(folded.removesuffix("s") == known.casefold() for known in KINDS)


def _tidy(yaml_problems: Sequence[Problem], problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return all in order, at most `PROBLEM_LIMIT`, without what only follows from bad YAML."""
    if not (yaml_problems or problems):
        return ()
    first = sort_problems(yaml_problems)
    spoiled = {problem.place for problem in first}
    rest = (problem for problem in problems if problem.place not in spoiled)
    found = sort_problems((*first, *rest))
    if len(found) <= PROBLEM_LIMIT:
        return found
    more = "Further problems in this file are not shown."
    return (*found[:PROBLEM_LIMIT], Problem(place=found[PROBLEM_LIMIT].place, message=more))
