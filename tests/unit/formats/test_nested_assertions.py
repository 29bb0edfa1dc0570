"""Assertions inside others: read with their places, checked as strictly as any, no deeper than 4."""

from __future__ import annotations

import jsonschema_rs
import pytest

from gateval.app.readers import registries
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.formats.native.manifests import read_manifests
from gateval.formats.schemas import manifest_schema
from gateval.formats.yaml_reader import read_documents

HEAD = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: f}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions:
"""


def written(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def read(*lines: str) -> AssertionSpec:
    parsed = read_manifests("f.yaml", written(*lines).encode(), registries())
    assert parsed.problems == ()
    (found,) = parsed.manifests
    assert isinstance(found, Fixture)
    return found.assertions[0]


def read_all(*lines: str) -> tuple[Fixture | None, list[str]]:
    """The fixture, None where it has problems, and these."""
    parsed = read_manifests("f.yaml", written(*lines).encode(), registries())
    found = next((one for one in parsed.manifests if isinstance(one, Fixture)), None)
    return found, [str(one) for one in parsed.problems]


GOOD = (
    "- type: any",
    "  weight: 2",
    "  assertions:",
    "    - { type: contains, value: yes! }",
    "    - type: all",
    "      assertions: [{ type: judge, rubric: Kind. }, { type: isJson }]",
)


def test_parts_have_places_and_say_whether_a_judge_is_needed() -> None:
    found = read(*GOOD)
    assert (found.type, found.options, found.weight) == ("any", {}, 2)
    assert [(one.type, one.place.line, one.needs_judge) for one in found.parts] == [
        ("contains", 10, False),
        ("all", 11, True),
    ]
    assert found.part((1, 0)).options == {"rubric": "Kind."}
    assert found.needs_judge


def test_a_part_counts_for_the_meaning_and_its_place_does_not() -> None:
    other = (*GOOD[:5], "", *GOOD[5:])
    assert read(*GOOD).meaning == read(*other).meaning
    edited = (*GOOD[:3], "    - { type: contains, value: no }", *GOOD[4:])
    assert read(*GOOD).meaning != read(*edited).meaning


def nested(depth: int) -> str:
    return "{type: all, assertions: [" * depth + "{type: isJson}" + "]}" * depth


@pytest.mark.parametrize(
    ("lines", "line", "column", "message"),
    [
        (
            ("- type: any", "  assertions: [{ type: contain, value: a }]"),
            8, 28, 'Unknown assertion type "contain". Did you mean "contains"?',
        ),
        (
            ("- type: any", "  assertions:", "    - { type: contains, vale: a }"),
            9, 29, 'Unknown key "vale". Did you mean "value"?',
        ),
        (
            ("- type: any", "  assertions:", "    - { type: isJson, weight: 2 }"),
            9, 27, 'Unknown key "weight"',
        ),
        (
            ("- type: any", "  assertion: [{ type: isJson }]"),
            8, 7, 'Unknown key "assertion". Did you mean "assertions"?',
        ),
        (("- { type: not, assertions: [{ type: judge, rubric: x }] }",), 7, 32, "in a `not`"),
        (("- { type: any, assertions: [] }",), 7, 32, "at least 1"),
        (("- { type: any, assertions: [{ value: a }] }",), 7, 33, '"type" is missing'),
        ((f"- {nested(5)}",), 7, 107, "4 levels deep"),
    ],
)  # fmt: skip
def test_what_is_wrong_inside_is_told_at_its_place(
    lines: tuple[str, ...], line: int, column: int, message: str
) -> None:
    found = read_manifests("f.yaml", written(*lines).encode(), registries())
    assert found.manifests == ()
    said = [(one.place.line, one.place.column, one.message) for one in found.problems]
    assert any((at, where) == (line, column) and message in text for at, where, text in said), said


WEIGHED = (
    "- type: composite",
    "  name: both",
    "  required: true",
    "  assertions:",
    "    - { type: isJson, weight: 2, name: form }",
    "    - { type: composite, threshold: 0.5, assertions: [{ type: isJson, weight: 0.5 }] }",
)


def test_parts_that_are_weighed_have_a_name_and_a_weight() -> None:
    found = read(*WEIGHED)
    assert (found.name, found.required, found.weight) == ("both", True, 1)
    assert [(one.name, one.weight) for one in found.parts] == [("form", 2), ("", 1)]
    assert found.parts[1].parts[0].weight == 0.5
    lighter = (*WEIGHED[:4], WEIGHED[4].replace("2", "1"), WEIGHED[5])
    assert read(*WEIGHED).meaning != read(*lighter).meaning


def test_they_have_nothing_else_of_their_own() -> None:
    lines = ("- type: composite", "  assertions: [{ type: isJson, severity: low }]")
    (problem,) = read_manifests("f.yaml", written(*lines).encode(), registries()).problems
    assert 'Unknown key "severity"' in problem.message


def test_editors_are_told_the_same() -> None:
    schema = jsonschema_rs.Draft202012Validator(manifest_schema("EvalFixture", registries()))

    def fits(*lines: str) -> bool:
        documents, _ = read_documents("f.yaml", written(*lines).encode())
        return schema.is_valid(documents[0].data)

    assert fits(*GOOD)
    assert fits(f"- {nested(4)}")
    assert not fits("- { type: any, assertions: [{ type: contains, vale: a }] }")
    assert not fits("- { type: any, assertions: [{ type: isJson, weight: 2 }] }")
    assert not fits("- { type: any, assertions: [] }")
    assert fits(*WEIGHED)
    assert not fits("- { type: composite, assertions: [{ type: isJson, severity: low }] }")
