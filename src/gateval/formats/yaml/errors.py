"""What libyaml says when it gives up, in sentences that tell a person what to change."""

from __future__ import annotations

import re

from yaml.error import MarkedYAMLError

from gateval.domain.repository.place import Place, Problem
from gateval.domain.text.quoting import quote
from gateval.formats.yaml.document import mark_place

_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_SENTENCES = {
    "mapping values are not allowed in this context": (
        'A key cannot stand here. Put the text in quotes if its ": " belongs to it, and check the '
        "indentation."
    ),
    "block sequence entries are not allowed in this context": (
        'A "- " list cannot begin here. Begin it on the line below its key.'
    ),
    "did not find expected key": (
        "A key is expected here. Check the indentation and the quotes in the lines before."
    ),
    "did not find expected '-' indicator": (
        "An entry of the list is expected here. Check the indentation."
    ),
    "did not find expected ',' or ']'": 'The list in "[ ]" is not closed before this.',
    "did not find expected ',' or '}'": 'The mapping in "{ }" is not closed before this.',
    "found a tab character that violates indentation": (
        "A tab cannot stand here. Indent with spaces."
    ),
    "could not find expected ':'": 'This is no key: a ": " is missing after it.',
    "found unexpected end of stream": "The quotes that open here are never closed.",
    "found invalid Unicode character escape code": (
        "This escape stands for no character. Write the character itself."
    ),
    "found unknown escape character": (
        'This escape is not known. In single quotes a "\\" needs no escape.'
    ),
    "found undefined tag handle": "This tag is not known here. Remove it.",
    "found incompatible YAML document": "Only YAML 1.1 and 1.2 can be read. Remove the %YAML line.",
}


_ABOUT_THE_START = {"could not find expected ':'", "found unexpected end of stream"}
"""Problems that are better shown where the text in question begins than where it failed."""


def place_of(file: str, before: str) -> Place:
    """Return the place right after the text `before`, which begins the file."""
    return Place(
        file=file,
        line=before.count("\n") + 1,
        column=len(before) - (before.rfind("\n") + 1) + 1,
    )


def syntax_error(file: str, data: bytes, error: MarkedYAMLError) -> Problem:
    """Return what is wrong where the parser stopped."""
    mark = error.problem_mark
    if mark is None or error.problem in _ABOUT_THE_START:
        mark = error.context_mark or mark
    place = Place(file=file) if mark is None else mark_place(file, mark)
    return Problem(place=place, message=_sentence(error, _character_at(data, place)))


def control_character(file: str, data: bytes) -> Problem:
    """Return the place of the first character that YAML forbids; `data` is UTF-8 and holds one."""
    text = data.decode("utf-8")
    found = _CONTROL.search(text)
    if found is None:
        return Problem(place=Place(file=file), message="This file cannot be read as YAML.")
    return Problem(
        place=place_of(file, text[: found.start()]),
        message=f"The control character U+{ord(found[0]):04X} cannot stand in YAML. Remove it, or "
        f'write it as an escape in double quotes: "\\x{ord(found[0]):02x}".',
    )


def _sentence(error: MarkedYAMLError, character: str) -> str:
    problem = error.problem or "the parser gave no reason"
    if problem == "found character that cannot start any token":
        if character == "\t":
            return "A tab cannot stand here. Indent with spaces."
        return f"The character {quote(character)} cannot begin a value. Put the text in quotes."
    if problem in _SENTENCES:
        return _SENTENCES[problem]
    context = f" {error.context}" if error.context else ""
    return f"This is not valid YAML: {problem}{context}."


def _character_at(data: bytes, place: Place) -> str:
    lines = data.decode("utf-8-sig").split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    return line[place.column - 1 : place.column]
