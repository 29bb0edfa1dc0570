"""When a fixture is looked at, for any number of planned repetitions and stored base trials."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.statistics.design import looks


@pytest.mark.parametrize(
    ("reps", "stored", "expected"),
    [
        (1, 0, "1,1 3,3 6,6 10,10 15,15"),
        (1, 10, "10,1 12,3 15,6 20,10 25,15"),
        (1, 1, "1,1 3,3 6,6 11,10 16,15"),
        (2, 0, "2,2 7,6 12,10 17,15"),
        (3, 0, "3,3 8,6 13,10 18,15"),
        (3, 2, "3,3 8,6 13,10 18,15"),
        (3, 3, "3,3 8,6 13,10 18,15"),
        (3, 10, "10,3 15,6 20,10 25,15"),
        (3, 20, "20,3 25,6 30,10 35,15"),
        (5, 0, "5,5 10,10 15,15"),
        (8, 0, "8,8 13,10 18,15"),
        (9, 0, "9,9 15,15"),
        (13, 0, "13,13 18,15"),
        (14, 0, "14,14"),
        (15, 0, "15,15"),
        (15, 10, "15,15"),
        (100, 0, "100,100"),
    ],
)
def test_the_looks(reps: int, stored: int, expected: str) -> None:
    assert " ".join(f"{look.base},{look.head}" for look in looks(reps, stored)) == expected


@given(reps=st.integers(1, 100), stored=st.integers(0, 120))
def test_looks_begin_as_planned_and_grow(reps: int, stored: int) -> None:
    schedule = looks(reps, stored)
    assert schedule[0].head == reps
    assert schedule[-1].head == max(reps, 15) or reps == 14
    assert all(look.base >= look.head for look in schedule)
    assert all(look.base >= stored for look in schedule)
    for look, later in pairwise(schedule):
        assert later.head > look.head
        assert later.base > look.base or stored == 0 or reps == 1


@pytest.mark.parametrize(("reps", "stored"), [(0, 0), (-1, 0), (1, -1)])
def test_nonsense_is_refused(reps: int, stored: int) -> None:
    with pytest.raises(ValueError, match="no plan"):
        looks(reps, stored)
