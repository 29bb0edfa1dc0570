"""Reads a suite: its settings, and its cases wherever they stand."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pydantic import JsonValue
from yaml.error import Mark

from gateval.domain.paths import match_any, nearest, resolve_path, show_path
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.text import quote
from gateval.domain.tree import has_folder, is_lfs_pointer
from gateval.formats.agentv.node import (
    ALIKE,
    EXECUTION_KEYS,
    OF_SUITE,
    SUITE_KEYS,
    ExecutionBody,
    Node,
    SuiteBody,
    tell_refused,
    tell_twice,
)
from gateval.formats.agentv.recognition import CASES_KEYS, read_yaml
from gateval.formats.agentv.references import ReferenceFindings, suite_name, with_variables
from gateval.formats.native.cases import CASES_LIMIT
from gateval.formats.yaml_document import Branching, Document

SCHEME = "file://"
_ONE = ("case.yaml", "case.yml")


class RawCase(NamedTuple):
    """A case as it stands somewhere; `default_id` is the name of the folder that holds it."""

    node: Node
    default_id: str = ""


def raw_cases(node: Node, folder: str, found: ReferenceFindings) -> Iterator[RawCase]:
    """Yield the cases that stand at `node` of a suite in `folder`, each an entry of any kind."""
    if isinstance(node.value, str):
        yield from _named(node, node.value.removeprefix(SCHEME), folder, found)
    elif not isinstance(node.value, list):
        node.tell_sort("a list of cases", "the path of a file or folder")
    for entry in node.items():
        if isinstance(entry.value, str) and entry.value.startswith(SCHEME):
            written = entry.value.removeprefix(SCHEME)
            yield from _named(entry, written, folder, found)
        else:
            yield RawCase(entry)


def json_lines(path: str, found: ReferenceFindings) -> Iterator[RawCase]:
    """Yield the cases of a file of JSON lines, blank ones left out."""
    data = _data(path, found)
    if data is None:
        return
    entries: dict[str | int, Branching | Mark | None] = {}
    values: list[JsonValue] = []
    for number, raw in enumerate(data.removeprefix(BOM_UTF8).split(b"\n")):
        try:
            line = raw.decode("utf-8")
            if not line or line.isspace():
                continue
            if len(values) == CASES_LIMIT:
                _tell(path, f"A file may have {CASES_LIMIT:,} cases. Split it.", found, number)
                break
            values.append(read_json(line))
        except UnicodeDecodeError:
            _tell(path, "This line is not UTF-8. Save the file as UTF-8.", found, number)
        except NotStrictJson as error:
            said = f"This line is not JSON: {str(error).replace('line 1, ', '')}."
            _tell(path, said, found, number)
        else:
            entries[len(values) - 1] = Mark(path, 0, number, 0, None, 0)
    marks = Branching(Mark(path, 0, 0, 0, None, 0), entries=dict(entries))
    whole = found.node(Document(show_path(path), [*values], marks))
    yield from map(RawCase, whole.items())


def _named(node: Node, written: str, folder: str, found: ReferenceFindings) -> Iterator[RawCase]:
    tree, path = found.around.tree, resolve_path(folder, written)
    if path is None:
        node.tell(f"{quote(written)} leads out of the repository.")
        return
    if any(char in written for char in "*?"):
        matching = sorted(filter(match_any([path]), tree))
    elif path not in tree and has_folder(tree, path):
        yield from _folder(node, path, found)
        return
    else:
        matching = [path] if path in tree else []
    if not matching:
        said = f"There is no file {show_path(path)} in this revision. Add it, or track it with git."
        node.tell(said)
    for one in matching:
        yield from _file(node, one, found)


def _file(node: Node, path: str, found: ReferenceFindings) -> Iterator[RawCase]:
    shown = show_path(path)
    if not found.around.tree[path].is_file:
        node.tell(f"{shown} is a symbolic link or a submodule. Put the file itself there.")
    elif path.endswith(".jsonl"):
        yield from json_lines(path, found)
    elif path.endswith((".yaml", ".yml")):
        if (cases := _document(path, found)) is not None:
            if not isinstance(cases.value, list):
                cases.tell_sort("a list of cases")
            yield from map(RawCase, cases.items())
    else:
        node.tell(f"{shown} holds no cases: its name must end in .yaml, .yml or .jsonl.")


def _folder(node: Node, path: str, found: ReferenceFindings) -> Iterator[RawCase]:
    """Yield the one case of each folder below `path`; a file nearly named so is told."""
    prefix = f"{path}/" if path else ""
    folders: dict[str, list[str]] = {}
    for one in found.around.tree:
        name, slash, file = one.removeprefix(prefix).partition("/")
        if one.startswith(prefix) and slash:
            folders.setdefault(name, []).append(file)
    some = False
    for name, files in sorted(folders.items()):
        file = next((one for one in _ONE if one in files), "")
        for near in files if not file else ():
            if near[:1] in {"c", "C"} and nearest(near.lower(), _ONE, likeness=ALIKE):
                said = f"This file is passed over: that of a case is named {_ONE[0]}. Rename it."
                _tell(f"{prefix}{name}/{near}", said, found)
        if file and (case := _document(f"{prefix}{name}/{file}", found)) is not None:
            some = True
            yield RawCase(case, name)
    if not some:
        node.tell(f"No folder in {show_path(path)}/ holds a case.yaml.")


def _document(path: str, found: ReferenceFindings) -> Node | None:
    """Return the one document of a YAML file of cases; what is wrong with it is told."""
    data = _data(path, found)
    if data is None:
        return None
    documents, problems = read_yaml(path, data)
    found.problems += problems
    return None if problems or not documents else found.node(documents[0])


def _data(path: str, found: ReferenceFindings) -> bytes | None:
    found.own.add(path)
    data = found.around.content(path)
    if data is None:
        _tell(path, f"{show_path(path)} is too large to be read. Split it.", found)
    elif is_lfs_pointer(data):
        said = f"{show_path(path)} is a Git LFS pointer. Store the file itself in git."
        _tell(path, said, found)
        return None
    return data


def _tell(path: str, said: str, found: ReferenceFindings, number: int = -1) -> None:
    """Tell what is wrong with a file, or with its line of this number, from 0."""
    place = SourceLocation(file=show_path(path), line=number + 1)
    found.problems.append(Problem(place=place, message=said))


@dataclass(frozen=True)
class Suite:
    """A suite whose settings could be read.

    `path` is the file that names it, `folder` that from which files are found. With `appended` the
    suite's evaluators come behind those of each case, else a case's own take their place. `flawed`
    says that its settings cannot be used; its cases are read for what is wrong with them.
    """

    path: str
    name: str
    node: Node
    body: SuiteBody
    appended: bool
    flawed: bool = False
    cases: Sequence[RawCase] = field(default_factory=tuple)

    @property
    def folder(self) -> str:
        """The folder of its file; "" is the root."""
        return self.path.rpartition("/")[0]

    @property
    def execution(self) -> ExecutionBody:
        """Its `execution`, with defaults where there is none."""
        return self.body.execution or ExecutionBody()

    @property
    def place(self) -> SourceLocation:
        """Where the suite begins: its cases' key, else its file."""
        cases = self.node.first(CASES_KEYS)
        return cases.key_place if cases else self.node.place


def read_suite(path: str, document: Document, found: ReferenceFindings) -> Suite | None:
    """Return the suite that a document is, None if it has no cases; what is wrong is told."""
    before = len(found.problems)
    node = _filled(document, found)
    cases = node.first(CASES_KEYS)
    if cases is None:
        node.tell("There are no cases here. Add some.")
        return None
    body = _settings(node)
    flawed = len(found.problems) > before
    appended = cases.path == ("tests",) or _newer(body)
    suite = Suite(path, suite_name(path), node, body, appended, flawed)
    return _with(suite, raw_cases(cases, suite.folder, found), found)


def read_lines(path: str, companion: Document | None, found: ReferenceFindings) -> Suite:
    """Return the suite that a file of JSON lines is, with the settings of its companion."""
    before = len(found.problems)
    found.own.add(path)
    document = companion or Document(show_path(path), {}, None)
    node = _filled(document, found)
    body = _settings(node)
    flawed = len(found.problems) > before
    appended = path.endswith(".eval.jsonl") or document.file.endswith((".eval.yaml", ".eval.yml"))
    suite = Suite(path, suite_name(path), node, body, appended or _newer(body), flawed)
    return _with(suite, json_lines(path, found), found)


def _settings(node: Node) -> SuiteBody:
    """Return the settings; the defaults, with the problems told, where they cannot be read."""
    node.tell_slips(SUITE_KEYS)
    tell_refused(node)
    tell_twice(node, OF_SUITE)
    node.at("execution").tell_slips(EXECUTION_KEYS)
    body, wrong = node.read(SuiteBody)
    node.told.extend(wrong)
    return body or SuiteBody()


def _filled(document: Document, found: ReferenceFindings) -> Node:
    """Return the settings with variables filled in; the cases follow one by one."""
    node = found.node(document)
    if not isinstance(node.value, dict):
        return node
    value: dict[str, JsonValue] = {
        key: inner
        if key in CASES_KEYS and isinstance(inner, list)
        else with_variables(node.at(key), found).value
        for key, inner in node.value.items()
    }
    return node.having(value)


def _newer(body: SuiteBody) -> bool:
    return body.assertions is not None or body.assert_ is not None


def _with(suite: Suite, cases: Iterator[RawCase], found: ReferenceFindings) -> Suite:
    before = len(found.problems)
    listed = list(cases)
    if not listed and len(found.problems) == before:
        said = "There are no cases here. Add some, or remove the file."
        found.problems.append(Problem(place=suite.place, message=said))
    return replace(suite, cases=listed)
