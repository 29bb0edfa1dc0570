"""Steps of head and base side by side: those that mean the same in one row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.trials.trace import Step, StepKind
from gateval.render.report.evidence import aligned

KINDS = {"u": StepKind.USER, "a": StepKind.ASSISTANT}


def steps(word: str) -> list[Step]:
    """`u` and `a` are what user and assistant say, a capital is the call of a tool."""
    return [
        Step(number=at, kind=KINDS[one], text=f"{word}{at}")
        if one in KINDS
        else Step(number=at, kind=StepKind.TOOL_CALL, tool=one, text="")
        for at, one in enumerate(word, 1)
    ]


def shown(head: str, base: str) -> str:
    rows = aligned(steps(head), steps(base))
    return " ".join(
        f"{head[ours.number - 1] if ours else '-'}{base[theirs.number - 1] if theirs else '-'}"
        for ours, theirs in rows
    )


@pytest.mark.parametrize(
    ("head", "base", "rows"),
    [
        ("ua", "ua", "uu aa"),
        ("uRa", "uCRa", "uu -C RR aa"),
        ("uRa", "uCa", "uu RC aa"),
        ("uCRa", "ua", "uu C- R- aa"),
        ("", "ua", "-u -a"),
        ("uaRRRa", "uaRa", "uu aa RR R- R- aa"),
        ("uXYa", "uYXa", "uu X- YY -X aa"),
    ],
)
def test_a_step_stands_beside_the_one_that_means_the_same(head: str, base: str, rows: str) -> None:
    assert shown(head, base) == rows


@given(st.text("uaRC", max_size=12), st.text("uaRC", max_size=12))
def test_no_step_is_lost_and_none_comes_twice(head: str, base: str) -> None:
    rows = aligned(steps(head), steps(base))
    assert [one.number for one, _ in rows if one] == [*range(1, len(head) + 1)]
    assert [one.number for _, one in rows if one] == [*range(1, len(base) + 1)]
    assert all(one or other for one, other in rows)


def test_very_long_traces_stand_side_by_side_by_number() -> None:
    rows = aligned(steps("R" * 1_200), steps("C" * 1_200))
    assert len(rows) == 1_200
    assert all(one and other for one, other in rows)
