"""What preferences find that scores do not, and what they block by mistake, simulated.

An answer has a quality. A judge scores it with noise and in tenths, 0.9 at most. One that is fine
gives less as soon as an answer is less good; one that is full gives 0.9 to all that meet its
rubric, so that good answers look alike. Shown two answers at once, either says which quality is the
higher one, with noise of its own, and keeps to the first place now and then. Runs go through the
very functions that decide real ones, with the shares of real runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from benchmarks.statistics.lines import Line
from gateval.domain.statistics.broad import broad_step, first
from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    PREFERENCE_PART,
    Look,
    LookResult,
    broad_looks,
    design,
    fixture_share,
    joint_shares,
    looks,
)
from gateval.domain.statistics.graded import graded_broad_step, graded_rule, graded_walk
from gateval.domain.statistics.preference import preferences
from gateval.domain.statistics.walk import walk

BUDGET = 0.05
_LEVEL = BROAD * PREFERENCE_PART
PASSES = 0.5
_KEPT_FOR_SILENCE = 0.9
_PLACE = 0.2
"""How often the judge keeps to the first place."""

_FINE, _FULL = 0.0, 2.5
_FIXTURES = 40


class Found(NamedTuple):
    """What blocks a run: passes, scores of both judges (were they compared), preferences."""

    passes: bool
    fine: bool
    full: bool
    preference: bool

    @property
    def blocked(self) -> bool:
        """Whether a run that counts passes, and asks for a preference, blocks."""
        return self.passes or self.preference


class _Fixture:
    def __init__(self, random: Random, fall: float, spread: float) -> None:
        self._random = random
        self._means = (random.gauss(0, 0.5), 0.0)
        self._means = (self._means[0], self._means[0] - random.gauss(fall, spread))
        self.sides: tuple[list[float], list[float]] = ([], [])

    def up_to(self, look: Look) -> None:
        for side, mean, many in zip(self.sides, self._means, (look.base, look.head), strict=True):
            while len(side) < many:
                side.append(self._random.gauss(mean, 0.7))

    def scores(self, room: float) -> tuple[list[float], list[float]]:
        """Return the judge's scores, in tenths; `room` is how far quality may fall unseen."""
        base, head = ([_score(self._random, one + room) for one in side] for side in self.sides)
        return base, head

    def preferred(self, pairs: int) -> list[int]:
        """Return what the judge prefers in both orders of each pair."""
        found = []
        for base, head in zip(self.sides[0][:pairs], self.sides[1][:pairs], strict=True):
            said = {_order(self._random, head - base), -_order(self._random, base - head)}
            found.append(said.pop() if len(said) == 1 else 0)
        return found


def _score(random: Random, quality: float) -> float:
    return min(0.9, max(0.0, round(0.85 + 0.1 * quality + random.gauss(0, 0.02), 1)))


def _order(random: Random, lead: float) -> int:
    """Return 1 where the answer shown first is preferred, of which `lead` is the better quality."""
    if random.random() < _PLACE:
        return 1
    return 1 if lead + random.gauss(0, 0.5) > 0 else -1


def simulate(random: Random, fall: float, spread: float, fixtures: int = _FIXTURES) -> Found:
    """Return one run of an Eval with one repetition; head's quality falls by `fall` on average."""
    drawn = [_Fixture(random, fall, spread) for _ in range(fixtures)]
    shares, alone = joint_shares(BROAD, 0, preferences=True), joint_shares(BROAD, 0)
    share = fixture_share(FIXTURES, fixtures)
    for one in drawn:
        one.up_to(looks(1)[-1])
    known = {room: [one.scores(room) for one in drawn] for room in (_FINE, _FULL)}
    passed = [
        ([s >= PASSES for s in base], [s >= PASSES for s in head]) for base, head in known[_FINE]
    ]
    rule = design(looks(1), share)
    by_pass = any(walk(rule, *one).step is LookResult.REGRESSED for one in passed)
    schedule = broad_looks(1)
    for index, look in enumerate(schedule):
        strata = [first(look, *one) for one in passed]
        by_pass |= broad_step(schedule, index, strata, shares.whole).step is LookResult.REGRESSED
    said = preferences([one.preferred(1) for one in drawn], shares.preference)
    fine, full = (_by_scores(known[room], share, alone.whole) for room in (_FINE, _FULL))
    return Found(by_pass, fine, full, said.worse)


def _by_scores(known: list[tuple[list[float], list[float]]], fixture: float, whole: float) -> bool:
    """Whether scores block, of a fixture or of all together."""
    rule, schedule = graded_rule(looks(1), fixture * _KEPT_FOR_SILENCE, 0.8), broad_looks(1)
    return any(graded_walk(rule, *one).step is LookResult.REGRESSED for one in known) or any(
        graded_broad_step(schedule, index, known, whole).step is LookResult.REGRESSED
        for index in range(len(schedule))
    )


def lines(runs: int) -> Iterator[Line]:
    """Yield the lines, from a part of `runs` simulated runs for each figure."""
    for fixtures in (10, 40, 250):
        setting = f"preference, {fixtures} fixtures"
        random, many = Random(32), max(1, runs // 4 * 10 // fixtures)
        for what, spread in (("unchanged", 0.0), ("other answers, as good", 0.7)):
            calm = [simulate(random, 0.0, spread, fixtures) for _ in range(many)]
            preferred = sum(one.preference for one in calm) / many
            bar = _LEVEL + 3 * (_LEVEL / many) ** 0.5
            yield Line(setting, f"{what}: blocked by preference", preferred, bar=bar)
            if not spread:
                blocked = sum(one.blocked for one in calm) / many
                yield Line(setting, f"{what}: blocked", blocked, bar=BUDGET)
        for fall, bars in ((0.5, {250: 0.8}), (1.0, {40: 0.85, 250: 0.95})):
            slid = [simulate(random, fall, 0.3, fixtures) for _ in range(many)]
            what = f"answers slide by {fall:g}"
            found = sum(one.preference for one in slid) / many
            yield Line(setting, f"{what}: by preference", found, bar=bars.get(fixtures), least=True)
            yield Line(setting, f"{what}: by fine scores", sum(one.fine for one in slid) / many)
            yield Line(setting, f"{what}: by full scores", sum(one.full for one in slid) / many)
            yield Line(setting, f"{what}: by passes", sum(one.passes for one in slid) / many)
