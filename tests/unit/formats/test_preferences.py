"""Where a `preference` may stand: beside another assertion of a fixture, once, and weighing nothing."""

from __future__ import annotations

import pytest

from tests.unit.formats.test_nested_assertions import read_all

BESIDE = "- { type: contains, value: order }"
KIND = "- { type: preference, rubric: Kind. }"


def test_it_weighs_nothing_and_needs_a_judge() -> None:
    fixture, problems = read_all(BESIDE, KIND)
    assert not problems
    assert fixture is not None
    assert (fixture.preference, fixture.is_judged) == (1, False)
    assert (fixture.assertions[1].weight, fixture.assertions[1].needs_judge) == (0, True)


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ([KIND], 7, "a fixture has an assertion that each answer has to pass"),
        ([BESIDE, KIND, KIND], 9, "A fixture has one `preference`"),
        ([BESIDE, "- type: not", f"  assertions: [{KIND[2:]}]"], 9, "in no turn and no other"),
        ([BESIDE, "- { type: preference, rubric: Kind., weight: 2 }"], 8, "so it has no `weight`"),
        ([BESIDE, "- { type: preference, rubric: Kind., axis: a }"], 8, "so it has no `axis`"),
        ([BESIDE, "- { type: preference }"], 8, "rubric"),
    ],
)
def test_anywhere_else_it_is_a_problem_with_its_place(
    lines: list[str], line: int, said: str
) -> None:
    fixture, problems = read_all(*lines)
    assert fixture is None
    assert any(said in one and f":{line}:" in one for one in problems), problems
