"""What people write of cases, and a fixture's manifest that is filled in before it is one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field, JsonValue

from gateval.domain.base import JsonObject, Spec
from gateval.domain.repository.place import Place
from gateval.formats.native.written import Source, Written
from gateval.formats.templates.parts import Names
from gateval.formats.yaml.document import DocumentPath

TEMPLATE_LIMIT = 64_000
"""Characters of one text with `{{ … }}`."""

NAMES = Names(
    whole=(),
    inside=(("case",), ("vars",)),
    known="`case` and `vars`",
    holder="there is no",
    limit=TEMPLATE_LIMIT,
)

_MEANT = re.compile(r"\{\{-?\s*(?:case|vars)\b")


class CasesFile(Spec):
    """The file that holds the cases of a fixture."""

    file: str = Field(
        min_length=1,
        max_length=1000,
        description="The path of the file, from the manifest's folder or, after a `/`, from the "
        "repository's root: `.jsonl` (a JSON object in each line), `.csv` (the first line names "
        "the columns), or `.yaml`, `.yml` and `.json` with a list.",
    )


class TemplateDocument(Written):
    """A fixture before its texts are filled in: what is in `spec` shows later."""

    kind: Literal["EvalFixture"]
    spec: JsonObject


@dataclass(frozen=True, eq=False)
class Template:
    """The manifest of a fixture that is filled in, for each case or for each Eval's `vars`.

    `file` is the path of the cases from the repository's root; None if there are none. `texts` are
    the texts with `{{ … }}` by where they stand in the document, `asked` the vars that an Eval must
    give, `named` all that are named.
    """

    source: Source
    name: str
    labels: dict[str, str]
    agent: str
    file: str | None
    place: Place
    file_place: Place
    texts: Mapping[DocumentPath, str]
    asked: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()


def has_cases(body: JsonValue) -> bool:
    """Whether the document says where its cases are."""
    spec = body.get("spec") if isinstance(body, dict) else None
    return isinstance(spec, dict) and "cases" in spec


def templates_in(body: JsonValue) -> dict[DocumentPath, str]:
    """Return the texts in `spec` that are filled in, by their place in the document.

    With cases that is every text with `{{`, so that a slip does not go unnoticed; without, those
    that name `vars` or `case`.
    """
    spec = body.get("spec") if isinstance(body, dict) else None
    if not isinstance(spec, dict):
        return {}
    every = "cases" in spec
    return {
        path: text
        for path, text in _texts(spec, ("spec",))
        if path[1] != "cases" and (("{{" in text) if every else _MEANT.search(text))
    }


def keys_in(body: JsonValue) -> Iterator[DocumentPath]:
    """Yield the paths of keys in `spec` that look like templates."""
    todo: list[tuple[DocumentPath, JsonValue]] = [(("spec",), _spec(body))]
    while todo:
        path, value = todo.pop()
        if isinstance(value, dict):
            yield from ((*path, key) for key in value if _MEANT.search(key))
            todo += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            todo += [((*path, index), inner) for index, inner in enumerate(value)]


def _spec(body: JsonValue) -> JsonValue:
    return body.get("spec") if isinstance(body, dict) else None


def _texts(value: JsonValue, path: DocumentPath) -> Iterator[tuple[DocumentPath, str]]:
    todo: list[tuple[DocumentPath, JsonValue]] = [(path, value)]
    while todo:
        at, one = todo.pop()
        if isinstance(one, str):
            yield at, one
        elif isinstance(one, dict):
            todo += [((*at, key), inner) for key, inner in one.items()]
        elif isinstance(one, list):
            todo += [((*at, index), inner) for index, inner in enumerate(one)]
