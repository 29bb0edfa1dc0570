"""From a template and its cases to ordinary fixtures, each checked as if it were written out.

The reader of fixtures reads the first case whole. If nothing but the payload and options of
assertions is filled in, only these are checked for the others, and the rest is shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem, sort_problems
from gateval.domain.text.quoting import quote
from gateval.formats.native.cases.case import Case
from gateval.formats.native.cases.filling import Filling, LackingValue, replaced
from gateval.formats.native.cases.quick import Made, quick_of
from gateval.formats.native.cases.written import Template
from gateval.formats.native.kinds.fixture import read_meaning
from gateval.formats.native.written import Source
from gateval.formats.problems.validation import PROBLEM_LIMIT
from gateval.formats.yaml.document import Document, DocumentPath, write_path

WRITTEN_LIMIT = 256 * 1024 * 1024
"""Characters of all fixtures that one template gives, written out."""


class Expanded(NamedTuple):
    """The fixtures of a template, and everything that is wrong with them."""

    fixtures: tuple[Fixture, ...]
    problems: tuple[Problem, ...]


class _One(NamedTuple):
    """One fixture to be: its name, its place, and the values for its texts."""

    name: str
    place: Place
    given: JsonObject


class _AsWritten(dict[str, JsonValue]):
    """The vars of a template that no Eval fills in: each stays as it stands there."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__({name: f"{{{{ vars.{name} }}}}" for name in names})


def expand(
    template: Template, cases: Sequence[Case] | None, given: JsonObject | None = None
) -> Expanded:
    """Return a fixture for each case, or the one fixture of a template without cases.

    `given` are the vars of an Eval; without, texts that name vars stay as they are. If anything is
    wrong there is no fixture at all.
    """
    variables = _AsWritten(template.named) if given is None else given
    filling, quick = Filling(template), None
    made: list[Fixture] = []
    problems: list[Problem] = []
    written = 0
    for one in _ones(template, cases, variables):
        try:
            values = filling.values(one.given)
        except LackingValue as error:
            problems.append(_lacking(template, one, error))
            continue
        found = quick.fixture(one.name, one.place, values) if quick else None
        if found is None:
            found, broken = _read(template, filling, one, values)
            problems += broken
        if found is not None:
            made.append(found.fixture)
            written += found.size
            if quick is None and len(made) == 1 and cases is not None:
                quick = quick_of(template, filling, found, values)
        if written > WRITTEN_LIMIT:
            problems.append(Problem(place=one.place, message=_TOO_MUCH))
        if len(problems) >= PROBLEM_LIMIT or written > WRITTEN_LIMIT:
            break
    if problems:
        return Expanded((), sort_problems(problems)[:PROBLEM_LIMIT])
    return Expanded(tuple(made), ())


_TOO_MUCH = (
    f"Up to here the fixtures of these cases have more than {WRITTEN_LIMIT:,} characters. "
    "Shorten what they all hold, or split the file."
)


def _ones(
    template: Template, cases: Sequence[Case] | None, variables: JsonObject
) -> Iterator[_One]:
    if cases is None or template.file is None:
        yield _One(template.name, template.place, {"vars": variables})
        return
    file = show_path(template.file)
    for case in cases:
        place = Place(file=file, line=case.line)
        given: JsonObject = {"case": case.values, "vars": variables}
        yield _One(f"{template.name}-{case.word}", place, given)


def _read(
    template: Template, filling: Filling, one: _One, values: list[JsonValue]
) -> tuple[Made | None, tuple[Problem, ...]]:
    """Read one fixture as if it were written out."""
    source = template.source
    body = replaced(source.body, filling.tree, values)
    if template.file is not None and isinstance(body, dict):
        body = {**body, **_named(body, one.name)}
    document = Document(source.document.file, body, source.document.marks)
    found = read_meaning(Source(source.path, document, source.registries))
    if found.fixture is None or found.written is None or found.problems:
        return None, tuple(_told(template, one, problem) for problem in found.problems)
    changed: dict[str, object] = {"place": one.place}
    if template.file is not None:
        changed["family"] = template.name
        changed["places"] = {**found.fixture.places, "spec.cases": template.file_place}
    fixture = found.fixture.model_copy(update=changed)
    return Made(fixture, found.written, len(canonical_json(found.written))), ()


def _named(body: JsonObject, name: str) -> JsonObject:
    metadata, spec = body.get("metadata"), body.get("spec")
    assert isinstance(metadata, dict) and isinstance(spec, dict)  # noqa: S101, PT018 - was read
    return {
        "metadata": {**metadata, "name": name},
        "spec": {key: value for key, value in spec.items() if key != "cases"},
    }


def _told(template: Template, one: _One, problem: Problem) -> Problem:
    """Place a problem at the case if that filled in what is wrong, else in the manifest."""
    if problem.path == "metadata.name":
        return Problem(place=one.place, message=_name_wrong(one.name))
    document = template.source.document
    for path in template.texts:
        written = write_path(path)
        about_key = problem.path == written and problem.place == document.key_place(path)
        if about_key and document.key_place(path) != document.place(path):
            return problem
        if problem.path == written or problem.path.startswith((f"{written}.", f"{written}[")):
            return _at(template, one, path, problem.message)
    return problem


def _name_wrong(name: str) -> str:
    return f"The name {quote(name)} would be too long for a fixture. Shorten the `id`."


def _lacking(template: Template, one: _One, error: LackingValue) -> Problem:
    said = str(error)
    return _at(template, one, error.path, f"{said[:1].upper()}{said[1:]}.")


def _at(template: Template, one: _One, path: DocumentPath, message: str) -> Problem:
    if template.file is None:
        return Problem(
            place=template.source.document.place(path), path=write_path(path), message=message
        )
    text = f"{message} It fills in the text at {template.source.document.place(path)}."
    return Problem(place=one.place, path=write_path(path), message=text)
