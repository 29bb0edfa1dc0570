"""Where the cases of a suite stand: in it, in files that it names, in a folder, in JSON lines."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue
from yaml.error import Mark

from gateval.domain.repository.lfs import is_lfs_pointer
from gateval.domain.repository.paths import resolve_path, show_path
from gateval.domain.repository.patterns import match_any
from gateval.domain.repository.place import Place, Problem, nearest
from gateval.domain.repository.tree import has_folder
from gateval.domain.text.quoting import quote
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.formats.agentv.documents import read_yaml
from gateval.formats.agentv.node import ALIKE, Node
from gateval.formats.agentv.surroundings import Findings
from gateval.formats.gathering import GatheringContext
from gateval.formats.native.cases.case import CASES_LIMIT
from gateval.formats.yaml.document import Branching, Document

SCHEME = "file://"
_ONE = ("case.yaml", "case.yml")


class RawCase(NamedTuple):
    """A case as it stands somewhere; `default_id` is the name of the folder that holds it."""

    node: Node
    default_id: str = ""


def raw_cases(
    node: Node, folder: str, around: GatheringContext, found: Findings
) -> Iterator[RawCase]:
    """Yield the cases that stand at `node` of a suite in `folder`, each an entry of any kind."""
    if isinstance(node.value, str):
        yield from _named(node, node.value.removeprefix(SCHEME), folder, around, found)
    elif not isinstance(node.value, list):
        found.problems.append(node.wrong("a list of cases", "the path of a file or folder"))
    for entry in node.items():
        if isinstance(entry.value, str) and entry.value.startswith(SCHEME):
            written = entry.value.removeprefix(SCHEME)
            yield from _named(entry, written, folder, around, found)
        else:
            yield RawCase(entry)


def json_lines(path: str, around: GatheringContext, found: Findings) -> Iterator[RawCase]:
    """Yield the cases of a file of JSON lines, blank ones left out."""
    data = _data(path, around, found)
    if data is None:
        return
    entries: dict[str | int, Branching | Mark | None] = {}
    values: list[JsonValue] = []
    for number, raw in enumerate(data.removeprefix(BOM_UTF8).split(b"\n")):
        line = _text(path, number, raw, found)
        if not line or line.isspace():
            continue
        if len(values) == CASES_LIMIT:
            said = f"A file may have {CASES_LIMIT:,} cases. Split it."
            found.problems.append(Problem(place=_place(path, number), message=said))
            break
        try:
            values.append(read_json(line))
        except NotStrictJson as error:
            said = f"This line is not JSON: {str(error).replace('line 1, ', '')}."
            found.problems.append(Problem(place=_place(path, number), message=said))
            continue
        entries[len(values) - 1] = Mark(path, 0, number, 0, None, 0)
    marks = Branching(Mark(path, 0, 0, 0, None, 0), entries=dict(entries))
    document = Document(show_path(path), [*values], marks)
    yield from (RawCase(Node(document, (index,), value)) for index, value in enumerate(values))


def _named(
    node: Node, written: str, folder: str, around: GatheringContext, found: Findings
) -> Iterator[RawCase]:
    path = resolve_path(folder, written)
    if path is None:
        found.problems.append(node.problem(f"{quote(written)} leads out of the repository."))
        return
    if any(char in written for char in "*?"):
        matching = sorted(filter(match_any([path]), around.tree))
    elif path not in around.tree and has_folder(around.tree, path):
        yield from _folder(node, path, around, found)
        return
    else:
        matching = [path] if path in around.tree else []
    if not matching:
        said = f"There is no file {show_path(path)} in this revision. Add it, or track it with git."
        found.problems.append(node.problem(said))
    for one in matching:
        yield from _file(node, one, around, found)


def _file(node: Node, path: str, around: GatheringContext, found: Findings) -> Iterator[RawCase]:
    if not around.tree[path].is_file:
        said = f"{show_path(path)} is a symbolic link or a submodule. Put the file itself there."
        found.problems.append(node.problem(said))
    elif path.endswith(".jsonl"):
        found.own.add(path)
        yield from json_lines(path, around, found)
    elif path.endswith((".yaml", ".yml")):
        document = _document(path, around, found)
        if document is not None:
            cases = Node(document, (), document.data)
            if not isinstance(cases.value, list):
                found.problems.append(cases.wrong("a list of cases"))
            yield from map(RawCase, cases.items())
    else:
        said = f"{show_path(path)} holds no cases: its name must end in .yaml, .yml or .jsonl."
        found.problems.append(node.problem(said))


def _folder(node: Node, path: str, around: GatheringContext, found: Findings) -> Iterator[RawCase]:
    """Yield the one case of each folder below `path`."""
    prefix = f"{path}/" if path else ""
    folders: dict[str, list[str]] = {}
    for one in around.tree:
        name, slash, file = one.removeprefix(prefix).partition("/")
        if one.startswith(prefix) and slash:
            folders.setdefault(name, []).append(file)
    some = False
    for name, files in sorted(folders.items()):
        file = next((one for one in _ONE if one in files), "")
        if not file:
            _tell_nearly(f"{prefix}{name}", files, found)
            continue
        document = _document(f"{prefix}{name}/{file}", around, found)
        if document is not None:
            some = True
            yield RawCase(Node(document, (), document.data), name)
    if not some:
        said = f"No folder in {show_path(path)}/ holds a case.yaml."
        found.problems.append(node.problem(said))


def _tell_nearly(folder: str, files: Iterable[str], found: Findings) -> None:
    """Say so where a file is nearly named as that of a case: it would be passed over."""
    for name in files:
        if name[:1] in {"c", "C"} and nearest(name.lower(), _ONE, likeness=ALIKE):
            said = f"This file is passed over: that of a case is named {_ONE[0]}. Rename it."
            place = Place(file=show_path(f"{folder}/{name}"))
            found.problems.append(Problem(place=place, message=said))


def _document(path: str, around: GatheringContext, found: Findings) -> Document | None:
    """Return the one document of a YAML file of cases; what is wrong with it is told."""
    data = _data(path, around, found)
    if data is None:
        return None
    documents, problems = read_yaml(path, data)
    found.problems += problems
    if problems or not documents:
        return None
    return documents[0]


def _data(path: str, around: GatheringContext, found: Findings) -> bytes | None:
    found.own.add(path)
    data = around.content(path)
    said = ""
    if data is None:
        said = f"{show_path(path)} is too large to be read. Split it."
    elif is_lfs_pointer(data):
        said = f"{show_path(path)} is a Git LFS pointer. Store the file itself in git."
    if said:
        found.problems.append(Problem(place=Place(file=show_path(path)), message=said))
        return None
    return data


def _text(path: str, number: int, raw: bytes, found: Findings) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        said = "This line is not UTF-8. Save the file as UTF-8."
        found.problems.append(Problem(place=_place(path, number), message=said))
        return ""


def _place(path: str, number: int) -> Place:
    return Place(file=show_path(path), line=number + 1)
