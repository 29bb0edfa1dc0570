"""How much of sealed files is given away: counted by month and head, and what follows."""

from __future__ import annotations

import pytest

from gateval.domain.forge.seals import GivenBits, Room, given_in, room

ONE = GivenBits(month="2026-11", head="a" * 40, bits=7.04)


def test_what_is_written_is_read_and_nothing_else() -> None:
    assert GivenBits.parse(str(ONE)) == ONE
    for text in ("", str(ONE)[:-1], str(ONE).replace("2026-11", "26-11"), f"{ONE} {ONE}"):
        assert GivenBits.parse(text) is None


def test_a_head_counts_once_a_month() -> None:
    other = ONE.model_copy(update={"head": "b" * 40, "bits": 2.58})
    before = ONE.model_copy(update={"month": "2026-10"})
    again = ONE.model_copy(update={"bits": 2.58})
    assert given_in("2026-11", [ONE, other, before, again]) == pytest.approx(9.62)
    assert given_in("2026-12", [ONE]) == 0


@pytest.mark.parametrize(
    ("given", "left"),
    [(0, Room.FREE), (79, Room.FREE), (80, Room.WARNED), (100, Room.VERDICTS), (200, Room.NONE)],
)
def test_what_may_still_be_told(given: float, left: Room) -> None:
    assert room(given, 100) is left


def test_who_gives_nothing_away_allows_nothing() -> None:
    assert room(0, 0) is Room.NONE
