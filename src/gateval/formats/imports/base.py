"""What reading a file of another tool gives, and the manifests that are written of it."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.paths import show_path
from gateval.domain.problems import InvalidManifests, Problem, SourceLocation
from gateval.domain.strict_json import NotStrictJson, list_of, read_json
from gateval.formats.native.writing import document_for, manifest_text
from gateval.formats.yaml_document import Document, DocumentPath
from gateval.formats.yaml_reader import read_documents

_LONGEST = 60
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")

COMPARES = ("equals", "contains", "startsWith", "endsWith", "judge")
"""How an expected text may be compared, where the file does not say so."""


class ImportedCase(NamedTuple):
    """One fixture: what it is called there (or ""), where it stands, and its `spec`."""

    name: str
    place: SourceLocation
    spec: JsonObject


class Left(NamedTuple):
    """What does not carry over: where it stands, what it is, and why, as half a sentence. `alone`
    is what is told by itself, though others are left for the same reason.
    """

    place: SourceLocation
    what: str
    why: str
    alone: bool = False


class Imported(NamedTuple):
    """The cases of one file and what of it is left. `execution` is of the Eval."""

    cases: Sequence[ImportedCase]
    left: Sequence[Left]
    execution: Mapping[str, JsonValue] = {}


@dataclass(frozen=True)
class ImportRequest:
    """A file to import: its tracked path and content, and what the person said beside it.

    `compare` is one of `COMPARES`, or empty; `judge` is the model that judges, or empty. `beside`
    reads a file by its path from the repository's root; None where there is none. `left` takes what
    does not carry over.
    """

    path: str
    data: bytes
    compare: str
    judge: str
    beside: Callable[[str], bytes | None] = field(repr=False)
    left: list[Left] = field(default_factory=list)

    @property
    def folder(self) -> str:
        """The folder of the file, from the root; empty for the root."""
        return self.path.rpartition("/")[0]

    def place(self, line: int = 1) -> SourceLocation:
        """A line of this file."""
        return SourceLocation(file=show_path(self.path), line=line)

    def refused(self, message: str) -> InvalidManifests:
        """Return that this file is none of the format."""
        return InvalidManifests([Problem(place=self.place(), message=message)])

    def leave(self, place: SourceLocation, what: str, why: object) -> None:
        """Note what does not carry over, and why, as half a sentence."""
        self.left.append(Left(place, what, str(why)))

    def leave_line(self, problem: Problem) -> None:
        """Note a line that cannot be read, or from which on nothing can be."""
        said = problem.message.rstrip(".")
        why = f"{said[:1].lower()}{said[1:]}"
        self.left.append(Left(problem.place, "the line", why, alone=True))

    def unread(self, place: SourceLocation, written: JsonObject, known: Collection[str]) -> None:
        """Note the keys of a mapping that nobody reads, as far as they hold something."""
        for key, value in written.items():
            if key not in known and value not in (None, "", [], {}):
                self.leave(place, key, "it has no counterpart here")

    def sibling(self, name: str) -> bytes | None:
        """Read a file that is named relative to this one."""
        return self.beside(self.path_of(name))

    def path_of(self, name: str) -> str:
        """Return the path, from the root, of a file that is named relative to this one."""
        parts: list[str] = []
        for part in f"{self.folder}/{name}".split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part not in {"", ".", ".."}:
                parts.append(part)
        return "/".join(parts)


Reader = Callable[[ImportRequest], Imported]


class NotCarried(Exception):
    """Why something does not carry over, as half a sentence."""


def judged(request: ImportRequest, options: JsonObject) -> JsonObject:
    """Return an assertion for the judge. Raises `NotCarried` where none was named."""
    if not request.judge:
        raise NotCarried("it takes a judge: name its model with `--judge PROVIDER/MODEL`")
    return {"type": "judge", **options}


def compared(
    request: ImportRequest, expected: JsonValue, *, alternatives: bool = True
) -> JsonObject:
    """Return the assertion on the answer; texts in a list are alternatives, where the format says
    so. Raises `NotCarried`.
    """
    texts = list_of(expected) if alternatives else []
    if texts and all(isinstance(one, str) for one in texts):
        if len(texts) == 1:
            return compared(request, texts[0])
        return {"type": "any", "assertions": [compared(request, one) for one in texts]}
    if not request.compare:
        raise NotCarried(
            "the file does not say how answers are compared with it: "
            f"say so with `--compare` ({', '.join(COMPARES)})"
        )
    if request.compare == "judge":
        return judged(request, {"preset": "factuality"})
    if request.compare != "equals" and not isinstance(expected, str):
        raise NotCarried(f"it is no text, which `--compare {request.compare}` takes")
    return {"type": request.compare, "value": expected}


def filled(text: str, values: Mapping[str, JsonValue]) -> str:
    """Return a template with its `{{ name }}` filled in. Raises `NotCarried` where it has more."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise NotCarried(f"nothing says what `{match[1]}` is")
        found = values[match[1]]
        if not isinstance(found, str | int | float) or isinstance(found, bool):
            raise NotCarried(f"`{match[1]}` is no text")
        return str(found)

    if _TEMPLATE.search(_PLACEHOLDER.sub("", text)):
        raise NotCarried("it is a template that does more than name values")
    return _PLACEHOLDER.sub(value, text)


def document_of(request: ImportRequest) -> Document:
    """Return the one document of a YAML or JSON file, with places. Raises `InvalidManifests`."""
    if request.path.endswith(".json"):
        return _json_document(request)
    documents, problems = read_documents(request.path, request.data)
    if problems or len(documents) != 1:
        said = f"There are {len(documents)} documents in this file, and one is needed."
        raise InvalidManifests(problems) if problems else request.refused(said)
    return documents[0]


def _json_document(request: ImportRequest) -> Document:
    """JSON is read as JSON; a reader of YAML only tells where things stand, where it can."""
    try:
        data = read_json(request.data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise request.refused("This file is not UTF-8. Save it as UTF-8.") from None
    except NotStrictJson as error:
        line = re.search(r"line (\d+)", str(error))
        said = Problem(
            place=request.place(int(line[1]) if line else 1), message=f"This is not JSON: {error}."
        )
        raise InvalidManifests([said]) from None
    # Only lines are wanted of it: YAML knows no tabs before values and no halves of a character.
    plain = _HALF.sub(rb"\\u0078", request.data.replace(b"\t", b" "))
    documents, problems = read_documents(request.path, plain)
    marks = documents[0].marks if len(documents) == 1 and not problems else None
    return Document(show_path(request.path), data, marks)


def entries(
    request: ImportRequest, document: Document, path: DocumentPath, *, texts: bool = False
) -> Iterator[tuple[SourceLocation, JsonObject]]:
    """Yield the mappings of the list at `path`, each with its place. What else is there is left,
    but for `texts`, where somebody else reads them.
    """
    found = document.data_at(path)
    for index, value in enumerate(list_of(found)):
        place = document.place((*path, index))
        if isinstance(value, dict):
            yield place, value
        elif not (texts and isinstance(value, str)):
            request.leave(place, "the case", "it is no mapping")
    if found not in (None, "") and not isinstance(found, list | str):
        request.leave(document.place(path), str(path[-1]) if path else "it", "it is no list")


Wanted = Iterable[tuple[str, Callable[[], Iterable[JsonObject]]]]
"""What a case asks of its answer: how people know it, and what makes the assertions of it."""


def asserted(request: ImportRequest, place: SourceLocation, wanted: Wanted) -> list[JsonValue]:
    """Return the assertions of all that carries over; the rest is left with its reason."""
    made: list[JsonValue] = []
    for what, make in wanted:
        try:
            made += make()
        except NotCarried as error:
            request.leave(place, what, error)
    if not made:
        request.leave(place, "the case", "nothing of it can be asserted")
    return made


def asked(
    request: ImportRequest, place: SourceLocation, values: JsonObject, prompt: str
) -> JsonObject | None:
    """Return the input of a case: its values, and the prompt that they fill in, if there is one.
    None where that cannot be.
    """
    try:
        filled_in: JsonObject = {"prompt": filled(prompt, values)} if prompt else {}
    except NotCarried as error:
        request.leave(place, "the case", f"its prompt cannot be filled in: {error}")
        return None
    return {"type": "prompt", "payload": {**values, **filled_in}}


def written(name: str, agent: str, judge: str, imported: Imported, taken: set[str]) -> str:
    """Return the file of manifests: an Eval of this name and its fixtures, with their origins.

    `taken` are names of fixtures that are there already; those made here are added.
    """
    names = [
        free_name(f"{name}-{slug(case.name) or number}", taken)
        for number, case in enumerate(imported.cases, 1)
    ]
    listed: list[JsonValue] = [*names]
    spec: JsonObject = {"targetAgent": agent, "fixtures": listed}
    if judge:
        spec["judge"] = {"model": judge}
    if imported.execution:
        spec["execution"] = {**imported.execution}
    pieces = [manifest_text([document_for("Eval", name, {}, spec)])]
    for called, case in zip(names, imported.cases, strict=True):
        origin = f"# From {case.place.file}:{case.place.line}"
        pieces.append(
            f"{origin}\n{manifest_text([document_for('EvalFixture', called, {}, case.spec)])}"
        )
    return "---\n".join(pieces)


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number behind it where it is taken; it is taken then."""
    tries = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    free = next(one for one in tries if one not in taken)
    taken.add(free)
    return free


def slug(text: str) -> str:
    """Return a text as a part of a name: small letters, digits and `-`; may be empty."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST].strip("-")
