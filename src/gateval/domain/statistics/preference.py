"""The rule for a judge's preference: head's answers beside base's, each pair seen in both orders.

A pair is won, lost or tied by head; the two orders are one observation. What one fixture's pairs
say together is one number, because answers to one question may be alike in every repetition. If
head is as good as base, each fixture's number is as likely as its opposite (Fisher 1935), so the
p-value is the share of all ways to turn them round whose sum is at most the one seen. Where every
fixture has one pair, that is the sign test.

It is looked at once, at the planned repetitions. Nothing blocks above an observed win rate of
`HIGHEST_RATE`, so that a preference nobody would feel does not, however many pairs show it.

How often the judge kept to a place and not to an answer is told; it moves nothing, as such pairs
are ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil, comb, exp, fsum, lgamma, log, log1p

from pydantic import Field

from gateval.domain.base import Count, Share, Value
from gateval.domain.statistics.graded import flipped
from gateval.domain.statistics.walk import SEEN, least_drop_found

HIGHEST_RATE = 0.40
"""The highest observed win rate of head that can block."""

MOST = 500
"""Fixtures that are turned round one by one; of more, neighbours are turned round as one."""

_ROUNDING = 1e-9


class Preferences(Value):
    """What all pairs of an Eval say: how many head won, tied and lost, over so many `fixtures`.

    `first` and `second` count the pairs in which the judge chose the answer shown there both times.
    """

    won: Count = 0
    tied: Count = 0
    lost: Count = 0
    fixtures: Count = 0
    first: Count = 0
    second: Count = 0
    p_value: float = Field(default=1.0, ge=0, le=1)
    worse: bool = False

    @property
    def pairs(self) -> int:
        """All pairs."""
        return self.won + self.tied + self.lost

    @property
    def rate(self) -> Share:
        """Head's win rate in [0, 1], a tie being half a win; 0.5 without a pair."""
        return (self.won + self.tied / 2) / self.pairs if self.pairs else 0.5


def preferences(
    fixtures: Sequence[Sequence[int]], share: float, places: Sequence[int] = ()
) -> Preferences:
    """Return what the pairs of these fixtures say: 1 where head won, -1 where it lost, 0 for a tie.

    It is `worse` with a chance of at most `share` where head is as good as base. `places` has 1 for
    a pair in which the judge kept to the first place, and -1 for one to the second.
    """
    pairs = [pair for fixture in fixtures for pair in fixture]
    p_value = preference_p([sum(fixture) for fixture in fixtures if fixture])
    found = Preferences(
        won=pairs.count(1),
        tied=pairs.count(0),
        lost=pairs.count(-1),
        fixtures=sum(bool(fixture) for fixture in fixtures),
        first=list(places).count(1),
        second=list(places).count(-1),
        p_value=p_value,
    )
    worse = p_value <= share and found.rate <= HIGHEST_RATE + _ROUNDING
    return found.replace(worse=worse) if worse else found


def preference_p(sums: Sequence[int]) -> float:
    """Return the one-sided exact p-value, in (0, 1], that head is worse: `sums` are, by fixture,
    the pairs that it won less those that it lost. More wins never lower it.
    """
    size = ceil(len(sums) / MOST) or 1
    return flipped([sum(sums[at : at + size]) for at in range(0, len(sums), size)])


def preference_power(fixtures: int, share: float, rate: float) -> float:
    """Return P(worse) in [0, 1] for so many fixtures that each have one pair, none tied, of which
    head wins each with the chance `rate`.
    """
    most = _most_won(fixtures, share)
    if not 0 < rate < 1:
        return float(most >= fixtures * rate)
    whole, up, down = lgamma(fixtures + 1), log(rate), log1p(-rate)
    return fsum(
        exp(whole - lgamma(won + 1) - lgamma(lost + 1) + won * up + lost * down)
        for won, lost in ((won, fixtures - won) for won in range(most + 1))
    )


@cache
def preference_found(fixtures: int, share: float) -> float | None:
    """Return how far below .5 a win rate must be to be found in 4 of 5 cases; None where none is.

    It is rounded up to a ten thousandth. A tie is half a win: then a rate at which pairs tie is
    found as often, but of fewer than 60 fixtures in up to 3 % of cases less; of 7 in up to 17 %.
    """
    if not fixtures or not share:
        return None
    return least_drop_found(lambda rate: preference_power(fixtures, share, rate), 0.5, SEEN)


@cache
def _most_won(fixtures: int, share: float) -> int:
    """Return with how many pairs won head is still worse; -1: with none."""
    ways, most = 0, -1
    for won in range(int(fixtures * HIGHEST_RATE + _ROUNDING) + 1):
        ways += comb(fixtures, won)
        if ways / (1 << fixtures) > share:
            break
        most = won
    return most
