"""Unions and other shapes that only a registered model may have."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, JsonValue, model_validator

from gateval.domain.base import Spec
from gateval.formats.problems import validate
from gateval.formats.yaml_document import Document
from gateval.formats.yaml_reader import read_documents


class Point(Spec):
    kind: Literal["point"]
    x_axis: int


class Line(Spec):
    kind: Literal["line"]
    length: float = Field(lt=10)


class Choice(Spec):
    point: Point | None = None
    text_or_point: str | Point | None = None
    number_or_list: float | tuple[int, ...] = 1
    shape: Annotated[Point | Line, Field(discriminator="kind")] | None = None
    shapes: tuple[Point | Line, ...] = ()
    by_number: dict[int, str] = {}
    even: int = Field(default=2, multiple_of=2)
    few: tuple[int, ...] = Field(default=(), max_length=2)
    link: AnyUrl | None = None
    colour: Literal["red", "green", 3] = "red"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.even == 6:
            raise ValueError("six is right out")
        return self


def document(text: str) -> Document:
    documents, problems = read_documents("a.yaml", text.encode())
    assert problems == ()
    return documents[0]


def complaints(model: type[BaseModel], text: str) -> list[str]:
    read = document(text)
    _, problems = validate(model, read.data, read)
    return [str(problem).removeprefix("a.yaml:") for problem in problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("point: 5", ["1:8: point: Expected a mapping, got number 5."]),
        ("textOrPoint: 5", ["1:14: textOrPoint: Expected text or a mapping, got number 5."]),
        (
            "textOrPoint: {kind: point, xAxs: 1}",
            [
                '1:1: textOrPoint.xAxis: The required key "xAxis" is missing.',
                '1:28: textOrPoint.xAxs: Unknown key "xAxs". Did you mean "xAxis"?',
            ],
        ),
        ("numberOrList: x", ['1:15: numberOrList: Expected a number or a list, got text "x".']),
        ("numberOrList: [1, x]", ['1:19: numberOrList[1]: Expected a whole number, got text "x".']),
        ("shape: {length: 1}", ['1:8: shape: The required key "kind" is missing.']),
        (
            "shape: {kind: lin}",
            ['1:8: shape: "lin" is not known here. Expected point or line. Did you mean "line"?'],
        ),
        ("shape: {kind: line, length: 12}", ["1:29: shape.length: Must be less than 10, but is 12."]),
        (
            "shapes: [{kind: line, length: 12}]",
            ["1:31: shapes[0].length: Must be less than 10, but is 12."],
        ),
        ("shapes: [7]", ["1:10: shapes[0]: Expected a mapping, got number 7."]),
        ("byNumber: {one: x}", ['1:12: byNumber.one: Expected a whole number, got text "one".']),
        ("even: 3", ["1:7: even: Must be a multiple of 2, but is 3."]),
        ("even: 6", ["1:1: six is right out."]),
        ("few: [1, 2, 3]", ["1:6: few: Must have at most 2 entries."]),
        ("link: here", ['1:7: link: Expected a valid URL, relative URL without a base, got text "here".']),
        ("colour: rad", ['1:9: colour: "rad" is not known here. Expected red, green or 3. Did you mean "red"?']),
        ("colour: {}", ["1:9: colour: Expected red, green or 3, got a mapping."]),
        ("- even", ["1:1: Expected a mapping, got a list."]),
    ],
)  # fmt: skip
def test_a_finding_is_a_sentence(text: str, expected: list[str]) -> None:
    assert complaints(Choice, text) == expected


class Loose(BaseModel):
    """A model without aliases that takes anything."""

    model_config = ConfigDict(extra="allow")
    some_name: int
    rest: Any = None


def test_a_model_without_aliases_keeps_its_names() -> None:
    assert complaints(Loose, "some_name: 1\nother: 2\n") == []


def test_numbers_of_any_size_reach_the_model() -> None:
    big: JsonValue = 10**299
    read = document(f"some_name: {big}")
    value, problems = validate(Loose, read.data, read)
    assert problems == ()
    assert value is not None
    assert value.some_name == big
