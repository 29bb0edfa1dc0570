"""From a template and its cases to ordinary fixtures, each checked as if it were written out.

The reader of fixtures reads the first case whole. If nothing but the payload and options of
assertions is filled in, only these are checked for the others, and the rest is shared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json

from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.paths import resolve_path, show_path
from gateval.domain.problems import Problem, SourceLocation, sort_problems
from gateval.domain.strict_json import string_of
from gateval.domain.text import quote
from gateval.formats.base import Source, Template
from gateval.formats.native.cases import (
    ENDINGS,
    NAMES,
    Case,
    CasesFile,
    TemplateDocument,
    has_cases,
    keys_in,
    templates_in,
)
from gateval.formats.native.fixture import COMMON_KEYS, read_meaning
from gateval.formats.problems import PROBLEM_LIMIT, problem_at, validate
from gateval.formats.templates import Budget, Expression, Part, TemplateError, fill_parts, parsed
from gateval.formats.yaml_document import Document, DocumentPath, write_path

_CASES: DocumentPath = ("spec", "cases")


def is_template(source: Source) -> bool:
    """Whether a fixture's manifest is filled in before it is one."""
    if not source.may_be_template:
        return False
    return has_cases(source.body) or bool(templates_in(source.body))


def read_template(source: Source) -> tuple[Template | None, tuple[Problem, ...]]:
    """Return the manifest as a template. What its texts give is checked when they are filled in."""
    document, problems = validate(TemplateDocument, source.body, source.document)
    texts = templates_in(source.body)
    named, asked, wrong = _vars(source, texts)
    wrong += [
        problem_at(source.document, path, "Only values are filled in, not the names of keys.")
        for path in keys_in(source.body)
    ]
    file, broken = _file(source) if has_cases(source.body) else (None, ())
    problems = (*problems, *wrong, *broken)
    if document is None or problems:
        return None, problems
    template = Template(
        source=source,
        name=document.metadata.name,
        labels=document.metadata.labels,
        agent=string_of(document.spec, "targetAgent"),
        file=file,
        place=source.document.place(("metadata", "name")),
        file_place=source.document.key_place(_CASES),
        texts=texts,
        asked=asked,
        named=named,
    )
    return template, ()


def _file(source: Source) -> tuple[str | None, tuple[Problem, ...]]:
    written, problems = validate(
        CasesFile, source.document.data_at(_CASES), source.document, _CASES
    )
    if written is None:
        return None, problems
    path = resolve_path(source.path.rpartition("/")[0], written.file)
    if path and path.endswith(ENDINGS):
        return path, ()
    why = f"is no file of cases: its name must end in {_ENDINGS}"
    why = why if path else "leads out of the repository"
    message = f"{quote(written.file)} {why}."
    return path, (problem_at(source.document, (*_CASES, "file"), message),)


_ENDINGS = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"


def _vars(
    source: Source, texts: dict[DocumentPath, str]
) -> tuple[frozenset[str], frozenset[str], list[Problem]]:
    """Return the vars that are named, those that must be there, and what cannot be a template."""
    named: set[str] = set()
    asked: set[str] = set()
    problems: list[Problem] = []
    with_cases = has_cases(source.body)
    for path, text in texts.items():
        try:
            expressions = [part for part in parsed(text, NAMES) if isinstance(part, Expression)]
        except TemplateError as error:
            clause = f"{str(error)[:1].upper()}{str(error)[1:]}".rstrip(".")
            said = f"{clause}. For two braces as they are, write {{{{ '{{{{' }}}}."
            problems.append(problem_at(source.document, path, said))
            continue
        if not with_cases and any(one.path[:1] == ("case",) for one in expressions):
            said = "This names `case`, but there are none: spec.cases is missing."
            problems.append(problem_at(source.document, path, said))
        of_vars = [one for one in expressions if one.path[:1] == ("vars",) and len(one.path) > 1]
        named |= {str(one.path[1]) for one in of_vars}
        asked |= {str(one.path[1]) for one in of_vars if "default" not in dict(one.filters)}
    return frozenset(named), frozenset(asked), problems


Tree: TypeAlias = "dict[str | int, Tree | int]"
"""The way to each text that is filled in, and there its number."""


class LackingValue(TemplateError):
    """A text cannot be filled in; `path` is where it stands in the document."""

    def __init__(self, message: str, path: DocumentPath) -> None:
        super().__init__(message)
        self.path = path


class Filling:
    """The texts of a template, each read once."""

    def __init__(self, template: Template) -> None:
        self._texts: list[tuple[DocumentPath, tuple[Part, ...]]] = [
            (path, parsed(text, NAMES)) for path, text in template.texts.items()
        ]
        self.tree = _tree([path for path, _ in self._texts])

    def values(self, given: JsonObject) -> list[JsonValue]:
        """Return what each text becomes with `case` and `vars`. Raises `LackingValue`."""
        budget = Budget(what="the fixture")
        filled: list[JsonValue] = []
        for path, parts in self._texts:
            try:
                filled.append(fill_parts(parts, NAMES, given, budget))
            except TemplateError as error:
                raise LackingValue(str(error), path) from None
        return filled


def replaced(data: JsonValue, tree: Tree | int, values: Sequence[JsonValue]) -> JsonValue:
    """Return `data` with the values in it; parts without any are shared, nothing is changed."""
    if isinstance(tree, int):
        return values[tree]
    if isinstance(data, list):
        items = list(data)
        for index, inner in tree.items():
            items[int(index)] = replaced(items[int(index)], inner, values)
        return items
    if isinstance(data, dict):
        keys = {str(key): replaced(data[str(key)], inner, values) for key, inner in tree.items()}
        return {**data, **keys}
    return data


def inside(tree: Tree | int | None, *steps: str | int) -> Tree | int | None:
    """Return the part of a tree below these steps; None where nothing is filled in."""
    for step in steps:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree


def _tree(paths: Sequence[DocumentPath]) -> Tree:
    root: Tree = {}
    for number, path in enumerate(paths):
        at = root
        for step in path[:-1]:
            deeper = at.setdefault(step, {})
            assert isinstance(deeper, dict)  # noqa: S101 - a text holds no other text
            at = deeper
        at[path[-1]] = number
    return root


class MadeFixture(NamedTuple):
    """A fixture, what it means by keys of `spec`, and how many characters that has."""

    fixture: Fixture
    written: JsonObject
    size: int


@dataclass(frozen=True)
class Options:
    """The options of one assertion that are filled in, and the model that checks them."""

    index: int
    raw: JsonObject
    tree: Tree
    model: type[BaseModel]


@dataclass(frozen=True)
class Quick:
    """All that the cases of a template share: its first fixture and what differs from that."""

    first: MadeFixture
    payload: Tree | int | None
    raw_payload: JsonValue
    options: tuple[Options, ...]

    def fixture(
        self, name: str, place: SourceLocation, values: list[JsonValue]
    ) -> MadeFixture | None:
        """Return the fixture of one case, None if anything in it looks wrong."""
        first = self.first.fixture
        given, assertions = first.input, list(first.assertions)
        written = dict(self.first.written)
        if self.payload is not None:
            payload = replaced(self.raw_payload, self.payload, values)
            if not isinstance(payload, dict):
                return None
            given = given.replace(payload=payload)
            written["input"] = {**_mapping(written["input"]), "payload": payload}
        asked = written["assertions"]
        meant = list(asked) if isinstance(asked, list) else []
        for one in self.options:
            options = replaced(one.raw, one.tree, values)
            try:
                one.model.model_validate_json(
                    to_json(options), strict=True, by_alias=True, by_name=False
                )
            except ValidationError:
                return None
            assertions[one.index] = assertions[one.index].replace(options=options)
            meant[one.index] = {**_mapping(meant[one.index]), "options": options}
        written["assertions"] = meant
        text = canonical_json(
            {"kind": first.kind, "name": name, "labels": dict(first.labels), "spec": written}
        )
        fixture = first.replace(
            name=name,
            place=place,
            input=given,
            assertions=tuple(assertions) if self.options else first.assertions,
            digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        )
        return MadeFixture(fixture, written, len(text))


def quick_of(
    template: Template, filling: Filling, first: MadeFixture, values: list[JsonValue]
) -> Quick | None:
    """Return how to make the other fixtures, None if each has to be read whole.

    `values` made the first one. The short way is taken only if it gives just that, too.
    """
    spec = _mapping(_mapping(template.source.body)["spec"])
    tree = inside(filling.tree, "spec")
    if not isinstance(tree, dict) or not tree.keys() <= {"input", "assertions"}:
        return None
    payload, options = tree.get("input"), _options(template, spec, tree.get("assertions"))
    if options is None or (isinstance(payload, dict) and payload.keys() != {"payload"}):
        return None
    if isinstance(payload, int):
        return None
    quick = Quick(
        first=first,
        payload=inside(payload, "payload"),
        raw_payload=_mapping(spec["input"]).get("payload"),
        options=options,
    )
    again = quick.fixture(first.fixture.name, first.fixture.place, values)
    return quick if again is not None and again.fixture == first.fixture else None


def _options(
    template: Template, spec: JsonObject, tree: Tree | int | None
) -> tuple[Options, ...] | None:
    if isinstance(tree, int):
        return None
    found: list[Options] = []
    raw = spec.get("assertions")
    models: Mapping[str, type[BaseModel]] = template.source.registries.assertions
    for index, inner in (tree or {}).items():
        written = _mapping(raw[int(index)]) if isinstance(raw, list) else {}
        kind = written.get("type")
        if (
            not isinstance(inner, dict)
            or not isinstance(kind, str)
            or inner.keys() & {*COMMON_KEYS}
        ):
            return None
        own = {key: value for key, value in written.items() if key not in COMMON_KEYS}
        found.append(Options(int(index), own, inner, models[kind]))
    return tuple(found)


def _mapping(value: JsonValue) -> JsonObject:
    assert isinstance(value, dict)  # noqa: S101 - the reader has seen that it is one
    return value


WRITTEN_LIMIT = 256 * 1024 * 1024
"""Characters of all fixtures that one template gives, written out."""


class Expanded(NamedTuple):
    """The fixtures of a template, and everything that is wrong with them."""

    fixtures: tuple[Fixture, ...]
    problems: tuple[Problem, ...]


class _One(NamedTuple):
    """One fixture to be: its name, its place, and the values for its texts."""

    name: str
    place: SourceLocation
    given: JsonObject


def expand(
    template: Template, cases: Sequence[Case] | None, given: JsonObject | None = None
) -> Expanded:
    """Return a fixture for each case, or the one fixture of a template without cases.

    `given` are the vars of an Eval; without, texts that name vars stay as they are. If anything is
    wrong there is no fixture at all.
    """
    variables = given
    if variables is None:  # each stays as it stands there
        variables = {name: f"{{{{ vars.{name} }}}}" for name in template.named}
    filling, quick = Filling(template), None
    made: list[Fixture] = []
    problems: list[Problem] = []
    written = 0
    for one in _ones(template, cases, variables):
        try:
            values = filling.values(one.given)
        except LackingValue as error:
            said = str(error)
            said = f"{said[:1].upper()}{said[1:]}."
            problems.append(_at(template, one, error.path, said))
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
        place = SourceLocation(file, case.line)
        given: JsonObject = {"case": case.values, "vars": variables}
        yield _One(f"{template.name}-{case.word}", place, given)


def _read(
    template: Template, filling: Filling, one: _One, values: list[JsonValue]
) -> tuple[MadeFixture | None, tuple[Problem, ...]]:
    """Read one fixture as if it were written out."""
    source = template.source
    body = replaced(source.body, filling.tree, values)
    if template.file is not None and isinstance(body, dict):
        metadata, spec = body.get("metadata"), body.get("spec")
        assert isinstance(metadata, dict) and isinstance(spec, dict)  # noqa: S101, PT018 - was read
        body = {
            **body,
            "metadata": {**metadata, "name": one.name},
            "spec": {key: value for key, value in spec.items() if key != "cases"},
        }
    document = Document(source.document.file, body, source.document.marks)
    found = read_meaning(Source(source.path, document, source.registries))
    if found.fixture is None or found.written is None or found.problems:
        return None, tuple(_told(template, one, problem) for problem in found.problems)
    changed: dict[str, object] = {"place": one.place}
    if template.file is not None:
        changed["family"] = template.name
        changed["places"] = {**found.fixture.places, "spec.cases": template.file_place}
    fixture = found.fixture.model_copy(update=changed)
    return MadeFixture(fixture, found.written, len(canonical_json(found.written))), ()


def _told(template: Template, one: _One, problem: Problem) -> Problem:
    """Place a problem at the case if that filled in what is wrong, else in the manifest."""
    if problem.path == "metadata.name":
        said = f"The name {quote(one.name)} would be too long for a fixture. Shorten the `id`."
        return Problem(place=one.place, message=said)
    document = template.source.document
    for path in template.texts:
        written = write_path(path)
        about_key = problem.path == written and problem.place == document.key_place(path)
        if about_key and document.key_place(path) != document.place(path):
            return problem
        if problem.path == written or problem.path.startswith((f"{written}.", f"{written}[")):
            return _at(template, one, path, problem.message)
    return problem


def _at(template: Template, one: _One, path: DocumentPath, message: str) -> Problem:
    if template.file is None:
        return Problem(
            place=template.source.document.place(path), path=write_path(path), message=message
        )
    text = f"{message} It fills in the text at {template.source.document.place(path)}."
    return Problem(place=one.place, path=write_path(path), message=text)
