"""The one YAML reader: bytes in, documents with places and all problems out, whatever the bytes.

The order matters, because each step protects the next: size, UTF-8, line breaks that git does not
know, tag directives (libyaml compares each with all others), then libyaml's events under limits of
depth and size (`builder.py`). Nothing recurses further than the depth limit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from yaml import YAMLError
from yaml.error import MarkedYAMLError

from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem
from gateval.errors import EvaluationError
from gateval.formats.yaml.builder import Built, TreeBuilder
from gateval.formats.yaml.document import Document, mark_place, write_path
from gateval.formats.yaml.errors import control_character, place_of, syntax_error
from gateval.formats.yaml.limits import Refused

if TYPE_CHECKING:
    from yaml import CBaseLoader

BYTE_LIMIT = 1024 * 1024
"""Bytes of one file."""

_TAG_DIRECTIVES = 16
_ODD_BREAK = re.compile("\r(?!\n)|[\x85\u2028\u2029]")


def read_documents(path: str, data: bytes) -> tuple[tuple[Document, ...], tuple[Problem, ...]]:
    """Return the documents of a YAML file and all problems of their YAML, in order of place.

    `path` is the tracked path. Empty documents are left out. Documents before a syntax error are
    returned, those after it are not. Raises `EvaluationError` when PyYAML lacks libyaml.
    """
    file = show_path(path)
    if (problem := _first_glance(file, data)) is not None:
        return (), (problem,)
    documents: list[Document] = []
    stop = _read_all(file, data, documents)
    problems = [problem for document in documents for problem in document.problems]
    return (
        tuple(document for document in documents if document.data is not None),
        tuple(problems if stop is None else [*problems, stop]),
    )


def _first_glance(file: str, data: bytes) -> Problem | None:
    """What can be refused before YAML begins."""
    if len(data) > BYTE_LIMIT:
        return Problem(
            place=Place(file=file),
            message=f"This file has {len(data):,} bytes; {BYTE_LIMIT:,} are allowed. Split it.",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Problem(
            place=place_of(file, data[: error.start].decode("utf-8")),
            message=f"This is not UTF-8: the byte 0x{data[error.start]:02x} cannot stand here. "
            "Save the file as UTF-8.",
        )
    if (odd := _ODD_BREAK.search(text)) is not None:
        return Problem(
            place=place_of(file, text[: odd.start()]),
            message=f"The character U+{ord(odd[0]):04X} breaks the line for some programs and not "
            'for others. Use a line feed, or an escape such as "\\u2028" in double quotes.',
        )
    if data.count(b"%TAG") > _TAG_DIRECTIVES:
        return Problem(
            place=place_of(file, text[: text.index("%TAG")]),
            message="This file has too many %TAG directives. Remove them: no tag is needed here.",
        )
    return None


def _read_all(file: str, data: bytes, documents: list[Document]) -> Problem | None:
    """Append each document; return why reading stopped early, if it did."""
    try:
        documents.extend(_document(file, built) for built in TreeBuilder(_parser(data)).documents())
    except Refused as refused:
        return Problem(place=mark_place(file, refused.mark), message=refused.message)
    except MarkedYAMLError as error:
        return syntax_error(file, data, error)
    except YAMLError:
        return control_character(file, data)
    return None


def _parser(data: bytes) -> CBaseLoader:
    try:
        from yaml import CBaseLoader
    except ImportError:
        raise EvaluationError(
            "PyYAML was installed without libyaml, so manifests cannot be read.",
            hint="Install PyYAML from a wheel, or build it with libyaml's headers at hand.",
        ) from None
    return CBaseLoader(data)


def _document(file: str, built: Built) -> Document:
    problems = tuple(
        Problem(
            place=mark_place(file, fault.mark), path=write_path(fault.path), message=fault.message
        )
        for fault in built.faults
    )
    return Document(file=file, data=built.data, marks=built.marks, problems=problems)
