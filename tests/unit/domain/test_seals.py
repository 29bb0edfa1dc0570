"""How much of sealed files is given away: counted by month and head, and what follows."""

from __future__ import annotations

from math import log2

import pytest

from gateval.domain.forge.check_run import GivenBits, HeadOnSeal, Room, given_in, head_on_seal, room

ONE = GivenBits(month="2026-11", head="a" * 40, bits=7.04)


def test_what_is_written_is_read_and_nothing_else() -> None:
    assert GivenBits.parse(str(ONE)) == ONE
    for text in ("", str(ONE)[:-1], str(ONE).replace("2026-11", "26-11"), f"{ONE} {ONE}"):
        assert GivenBits.parse(text) is None


def test_a_month_has_the_bits_of_all_its_runs() -> None:
    other = ONE.model_copy(update={"head": "b" * 40, "bits": 2.58})
    before = ONE.model_copy(update={"month": "2026-10"})
    again = ONE.model_copy(update={"bits": 0.0})
    assert given_in("2026-11", [ONE, other, before, again]) == pytest.approx(9.62)
    assert given_in("2026-12", [ONE]) == 0


def test_what_was_given_away_is_known_though_entries_are_deleted() -> None:
    """GitHub keeps the newest thousand check runs of a name."""
    entries = list[GivenBits]()
    for number in range(1_500):
        before = round(given_in("2026-11", entries), 2)
        one = ONE.model_copy(update={"head": f"{number:040x}", "bits": 2.58, "before": before})
        entries = [one, *entries][:1_000]
        assert GivenBits.parse(str(one)) == one
    assert given_in("2026-11", entries) == pytest.approx(1_500 * 2.58)


def test_what_is_known_of_a_head_is_what_it_told_last() -> None:
    first = ONE.model_copy(update={"told": "1" * 32})
    newer = ONE.model_copy(update={"told": "2" * 32})
    other = newer.model_copy(update={"head": "b" * 40, "told": "3" * 32})
    silent = ONE.model_copy(update={"told": ""})
    assert head_on_seal(ONE.head, [silent, other, newer, first]) == HeadOnSeal(3, newer.told)
    assert head_on_seal(ONE.head, [other]) == HeadOnSeal()
    assert GivenBits.parse(str(newer)) == newer


def test_a_new_answer_of_a_head_costs_when_it_came_as_well() -> None:
    """Answers of one head over n runs, k of them new, cost at least log2 of how many there are."""
    bits, states = 2.58, 6
    assert HeadOnSeal().price(bits) == bits
    for runs in (1, 7, 1_000):
        paid = bits + HeadOnSeal(runs).price(bits)
        assert paid >= log2(states * (1 + runs * (states - 1)))


@pytest.mark.parametrize(
    ("given", "left"),
    [(0, Room.FREE), (79, Room.FREE), (80, Room.WARNED), (100, Room.VERDICTS), (200, Room.NONE)],
)
def test_what_may_still_be_told(given: float, left: Room) -> None:
    assert room(given, 100) is left


def test_who_gives_nothing_away_allows_nothing() -> None:
    assert room(0, 0) is Room.NONE
