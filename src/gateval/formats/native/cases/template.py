"""Reads the manifest of a fixture with cases or vars, as far as it can be read without them."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.repository.paths import resolve_path
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.native.cases.reading import ENDINGS
from gateval.formats.native.cases.written import (
    NAMES,
    CasesFile,
    Template,
    TemplateDocument,
    has_cases,
    keys_in,
    templates_in,
)
from gateval.formats.native.written import Source
from gateval.formats.problems.validation import problem_at, validate
from gateval.formats.templates.parts import Expression, TemplateError, parsed
from gateval.formats.yaml.document import DocumentPath

_CASES: DocumentPath = ("spec", "cases")


class TemplateRead(NamedTuple):
    """The template or None, and everything that is wrong with it."""

    template: Template | None
    problems: tuple[Problem, ...]


def is_template(source: Source) -> bool:
    """Whether a fixture's manifest is filled in before it is one."""
    if not source.may_be_template:
        return False
    return has_cases(source.body) or bool(templates_in(source.body))


def read_template(source: Source) -> TemplateRead:
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
        return TemplateRead(None, problems)
    agent = document.spec.get("targetAgent")
    return TemplateRead(
        Template(
            source=source,
            name=document.metadata.name,
            labels=document.metadata.labels,
            agent=agent if isinstance(agent, str) else "",
            file=file,
            place=source.document.place(("metadata", "name")),
            file_place=source.document.key_place(_CASES),
            texts=texts,
            asked=asked,
            named=named,
        ),
        (),
    )


def _file(source: Source) -> tuple[str | None, tuple[Problem, ...]]:
    written, problems = validate(
        CasesFile, source.document.data_at(_CASES), source.document, _CASES
    )
    if written is None:
        return None, problems
    path = resolve_path(source.path.rpartition("/")[0], written.file)
    message = ""
    if not path:
        message = f"{quote(written.file)} leads out of the repository."
    elif not path.endswith(ENDINGS):
        message = f"{quote(written.file)} is no file of cases: its name must end in {_ENDINGS}."
    return path, ((problem_at(source.document, (*_CASES, "file"), message),) if message else ())


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
            said = f"{_sentence(str(error))} For two braces as they are, write {{{{ '{{{{' }}}}."
            problems.append(problem_at(source.document, path, said))
            continue
        if not with_cases and any(one.path[:1] == ("case",) for one in expressions):
            said = "This names `case`, but there are none: spec.cases is missing."
            problems.append(problem_at(source.document, path, said))
        of_vars = [one for one in expressions if one.path[:1] == ("vars",) and len(one.path) > 1]
        named |= {str(one.path[1]) for one in of_vars}
        asked |= {str(one.path[1]) for one in of_vars if not _has_default(one)}
    return frozenset(named), frozenset(asked), problems


def _has_default(expression: Expression) -> bool:
    return any(name == "default" for name, _ in expression.filters)


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}".rstrip(".") + "."
