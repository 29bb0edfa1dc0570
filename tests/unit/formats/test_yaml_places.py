"""Where things stand: line and column as editors and git count them."""

from __future__ import annotations

import pytest

from gateval.domain.problems import SourceLocation
from gateval.formats.yaml_document import Document, DocumentPath, write_path
from gateval.formats.yaml_reader import read_documents

TEXT = """\
# ä comment
name: x
spec:
  tools:
    - {type: a, "b c": [1, 2]}
    - type: ü
      text: |
        line
  empty:
  same: &s {deep: 1}
  again: *s
"""


def document(text: str = TEXT, path: str = "a.yaml") -> Document:
    documents, problems = read_documents(path, text.encode())
    assert problems == ()
    return documents[0]


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (2, 1), (2, 1)),
        (("name",), (2, 7), (2, 1)),
        (("spec",), (4, 3), (3, 1)),
        (("spec", "tools"), (5, 5), (4, 3)),
        (("spec", "tools", 0), (5, 7), (5, 7)),
        (("spec", "tools", 0, "b c"), (5, 24), (5, 17)),
        (("spec", "tools", 0, "b c", 1), (5, 28), (5, 28)),
        (("spec", "tools", 1, "text"), (7, 13), (7, 7)),
        (("spec", "same", "deep"), (10, 19), (10, 13)),
        (("spec", "again"), (10, 9), (11, 3)),
        (("spec", "nowhere", "deeper"), (4, 3), (3, 1)),
        (("name", "of", 3), (2, 7), (2, 1)),
    ],
)
def test_places(path: DocumentPath, value: tuple[int, int], key: tuple[int, int]) -> None:
    found = document()
    assert found.place(path) == SourceLocation(file="a.yaml", line=value[0], column=value[1])
    assert found.key_place(path) == SourceLocation(file="a.yaml", line=key[0], column=key[1])


def test_key_places_go_as_deep_as_asked() -> None:
    places = document().key_places(("spec",), depth=2)
    assert {path: place.line for path, place in places.items()} == {
        "spec.tools": 4,
        "spec.tools[0]": 5,
        "spec.tools[1]": 6,
        "spec.empty": 9,
        "spec.same": 10,
        "spec.same.deep": 10,
        "spec.again": 11,
        "spec.again.deep": 10,
    }


def test_key_places_go_deeper_below_the_entries_that_are_named() -> None:
    places = document().key_places(("spec",), depth=1, deeper={"same": 2})
    assert "spec.same.deep" in places
    assert "spec.again.deep" not in places


def test_places_are_those_of_single_keys_however_they_are_put_together() -> None:
    found = document()
    spec, names = found.key_places(("spec",), depth=2), found.key_places((), depth=1)
    assert spec["spec.same.deep"] == found.key_place(("spec", "same", "deep"))
    assert dict(spec | names) == {**spec, **names}
    assert len(spec | names) == len(spec) + len(names)
    assert spec.get("spec.nothing") is None


@pytest.mark.parametrize(
    "text", ["\ufeffa: 1\nb: 2\n", "a: 1\r\nb: 2\r\n", "\na: 1\n\n---\nb: 2\n"]
)
def test_marks_and_windows_line_ends_do_not_shift_places(text: str) -> None:
    documents, problems = read_documents("a.yaml", text.encode())
    assert problems == ()
    line = text.replace("\ufeff", "").split("\n").index("b: 2" + "\r" * ("\r" in text)) + 1
    assert documents[-1].key_place(("b",)) == SourceLocation(file="a.yaml", line=line, column=1)


def test_a_strange_file_name_is_shown_as_git_shows_it() -> None:
    assert document("a: 1", "odd\nname.yaml").place().file == '"odd\\nname.yaml"'


def test_a_path_is_written_as_people_read_it() -> None:
    path = ("spec", "assertions", 2, "app.io/name", "x\n" * 40)
    assert write_path(path) == 'spec.assertions[2]["app.io/name"]["' + "x\\n" * 29 + 'x…"]'
