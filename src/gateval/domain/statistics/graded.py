"""The rules for units with scores: permutation tests at the looks of the rule for passes.

At each look the exact p-value decides: at most that look's part, and head has regressed; at most
the escalation limit, and more trials are made; else the unit stops. The parts sum to the unit's
share of the false-alarm budget, so the chance that an unchanged unit ever regresses is at most the
share, whatever its scores are like and wherever it stops (union bound). At an entry look, which has
too few trials for a p-value, a unit goes on if head's mean is below base's by the least drop.

If nothing changed, every way to deal the scores of both sides out to them is equally likely,
however they are distributed (Fisher 1935, Pitman 1937). The p-value is the share of the ways in
which head gets as little as it did, or less. On scores of 0 and 1 it is Fisher's exact test.

The ways are counted exactly: the sums that k of the scores can have are the digits of one large
whole number, whose base no count can reach, so adding a score is one shift and one addition.

The nth score of head is paired with the nth of base, unit by unit. If nothing changed, each
difference is as likely as its opposite (Fisher 1935), so the p-value is the share of all ways to
turn them round whose sum is at most the one seen.

Both are the paired permutation test at fixed looks. An axis may have fallen whatever the others
did. Few units have few pairs, so that no p-value can be small there: for these a third look is
added, and looks that are too early to tell anything go on where the mean fell by the least drop.
The share is split equally among the looks that can tell (union bound), so the chance that an
unchanged axis ever regresses is at most the share, however its scores are distributed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from math import ceil, comb, fsum, gcd
from typing import NamedTuple

from gateval.domain.base import Value
from gateval.domain.statistics.broad import GO_ON, LEAST_DROP, Broad, step_of
from gateval.domain.statistics.design import (
    ENTRY_BELOW,
    WEAKEST_CUT,
    Design,
    Look,
    LookResult,
    broad_looks,
    going_on_region,
    regressed_region,
)
from gateval.domain.statistics.walk import CLEAR, RegressionStatus

LEVELS = 1_000
"""Levels between 0 and 1. A test of rounded scores is as exact as one of the scores themselves."""

MOST = 18
"""Scores of a side that a test takes one by one; of more, the means of blocks of equal size."""

Scores = Sequence[float | None]
"""The scores of one unit on one side, in the order of repetitions; None for one lost for good."""


class Sample(Value):
    """The scores that were measured: how many, and their mean in [0, 1], 0 without any."""

    mean: float
    trials: int


def sample(scores: Scores) -> Sample:
    """Return the mean of the scores that were measured."""
    known = [score for score in scores if score is not None]
    return Sample(mean=sum(known) / len(known) if known else 0.0, trials=len(known))


def levels(scores: Sequence[float]) -> list[int]:
    """Return scores in [0, 1] as whole numbers from 0 to `LEVELS`."""
    return [round(score * LEVELS) for score in scores]


def blocks(scores: Sequence[float], most: int) -> list[float]:
    """Return the scores, or the means of blocks where a side has more than `MOST`.

    `most` is the larger count of both sides. Blocks have equal sizes on both, by the order of the
    repetitions; what is left over at the end has no say. Means of blocks of an unchanged agent are
    as exchangeable as its scores.
    """
    size = ceil(most / MOST)
    if size == 1:
        return list(scores)
    return [sum(scores[at : at + size]) / size for at in range(0, len(scores) - size + 1, size)]


_DIGIT = 48
"""Bits of a digit: more ways than there are to deal 36 scores out (34 bits) fit in."""


def permutation(base: Sequence[float], head: Sequence[float]) -> float:
    """Return the one-sided exact p-value, in (0, 1], that head's scores are lower than base's.

    1 where a side has none. A higher score of head or a lower one of base never lowers it.
    """
    if not base or not head:
        return 1.0
    most = max(len(base), len(head))
    ours, theirs = levels(blocks(head, most)), levels(blocks(base, most))
    if not ours or not theirs:
        return 1.0
    lowest = min(*ours, *theirs)
    pooled = tuple(sorted(score - lowest for score in (*ours, *theirs)))
    return _share(pooled, len(ours), sum(ours) - lowest * len(ours))


@lru_cache(maxsize=10_000)
def _share(pooled: tuple[int, ...], taken: int, total: int) -> float:
    """The share of the ways to take so many of the pooled scores whose sum is at most `total`."""
    ways = [1] + [0] * taken
    up_to = (1 << ((total + 1) * _DIGIT)) - 1
    for number, score in enumerate(pooled, 1):
        if score <= total:
            for count in range(min(number, taken), 0, -1):
                ways[count] += (ways[count - 1] << (score * _DIGIT)) & up_to
    return (ways[taken] % ((1 << _DIGIT) - 1)) / comb(len(pooled), taken)


LEAST_GRADED_DROP = 0.05
"""Head's mean must be so much below base's to be regressed, or beyond `pass_score` from it."""

ESCALATION = 0.20
"""The largest p-value at which a unit goes on. Scores take more values than passes, so .25 is met
more often: at that limit an unchanged unit would cost much more and find little more."""

_ROUNDING = 1e-9


class GradedRule(Value):
    """The rule: for each look the largest p-value that means regressed, 0 where none does.

    `pass_score` is where a unit passes, in [0, 1]; None where nothing does.
    """

    looks: tuple[Look, ...]
    share: float
    parts: tuple[float, ...]
    pass_score: float | None = None

    def worse(self, base: float, head: float) -> bool:
        """Whether a mean is so much worse than another that it may matter.

        A higher mean of head or a lower one of base never makes it so.
        """
        limit = self.pass_score
        flips = limit is not None and head < limit - _ROUNDING and base >= limit - _ROUNDING
        return base - head >= LEAST_GRADED_DROP - _ROUNDING or (flips and base > head)


class GradedWalk(Value):
    """Where a unit stands: see `Walk`.

    `p_value` is that of the last look taken; 1 before any, and where head is not below base.
    """

    step: LookResult
    look: Look
    base: Sample
    head: Sample
    p_value: float = 1.0

    @property
    def ended(self) -> bool:
        """Whether the rule wants no more trials."""
        return self.step is not LookResult.GO_ON


@cache
def graded_rule(
    looks: tuple[Look, ...], share: float, pass_score: float | None = None
) -> GradedRule:
    """Return the rule for `looks` whose chance of a false alarm is at most `share`.

    The share is split equally among the looks at which a p-value can be as small as a part of it;
    looks too early for that get nothing. Raises ValueError if `share` is not in (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"A share of the false-alarm budget lies between 0 and 1, not at {share}.")
    able = [index for index, look in enumerate(looks) if look.head >= ENTRY_BELOW]
    # The smallest p-value that a look can give: all of head's scores below all of base's.
    least = [1 / comb(look.trials, look.head) for look in looks]
    while able and least[able[0]] > share / len(able):
        del able[0]
    part = min(share / len(able), WEAKEST_CUT) if able else 0.0
    parts = tuple(part if index in able else 0.0 for index in range(len(looks)))
    return GradedRule(looks=looks, share=share, parts=parts, pass_score=pass_score)


def watched_only(look: Look) -> GradedRule:
    """Return the rule of a unit that is not tested by itself: one look without effect."""
    return GradedRule(looks=(look,), share=0.0, parts=(0.0,))


def graded_walk(rule: GradedRule, base: Scores, head: Scores) -> GradedWalk:
    """Return where the scores lead, in order of repetition; those beyond the end are ignored.

    A lost trial counts as 1 on head and as 0 on base. That keeps the guarantee whatever made it get
    lost: no higher score of head and no lower one of base makes a unit regress.
    """
    taken, look, p_value = LookResult.GO_ON, rule.looks[0], 1.0
    for index, look in enumerate(rule.looks):
        if len(base) < look.base or len(head) < look.head:
            break
        ours = [1.0 if score is None else score for score in head[: look.head]]
        theirs = [0.0 if score is None else score for score in base[: look.base]]
        taken, p_value = _step(rule, index, theirs, ours)
        if taken is not LookResult.GO_ON:
            break
    return GradedWalk(
        step=taken,
        look=look,
        base=sample(base[: look.base]),
        head=sample(head[: look.head]),
        p_value=p_value,
    )


def on_passes(rule: GradedRule) -> Design:
    """Return what the rule is for scores of 0 and 1 alone: the hardest to tell apart.

    There the permutation test is Fisher's, so power and cost of the rule are those of this design.
    """
    looks = rule.looks
    regressed = tuple(
        regressed_region((look,), part)[0] for look, part in zip(looks, rule.parts, strict=True)
    )
    return Design(
        looks=looks,
        share=rule.share,
        escalation=ESCALATION,
        cut=rule.parts[-1],
        regressed=regressed,
        going_on=going_on_region(looks, ESCALATION),
    )


def _step(
    rule: GradedRule, index: int, base: Sequence[float], head: Sequence[float]
) -> tuple[LookResult, float]:
    before, now = sum(base) / len(base), sum(head) / len(head)
    worse, last = rule.worse(before, now), index + 1 == len(rule.looks)
    if now >= before:
        return LookResult.STOP, 1.0
    if len(head) < ENTRY_BELOW:
        return (LookResult.GO_ON if worse and not last else LookResult.STOP), 1.0
    p_value = permutation(base, head)
    if worse and p_value <= rule.parts[index]:
        return LookResult.REGRESSED, p_value
    return (LookResult.GO_ON if p_value <= ESCALATION and not last else LookResult.STOP), p_value


def graded_status(
    rule: GradedRule, walk: GradedWalk, base: Scores, head: Scores
) -> RegressionStatus:
    """Return the status of a walk that ended, from the scores that led there.

    The first that applies: regressed; suspect and not confirmed, where the p-value is at most .05
    and .20 and the drop matters; improved, where the mirrored one is at most .05 and the rise
    matters; else unchanged. Raises ValueError if the rule still wants trials.
    """
    if not walk.ended:
        raise ValueError("This unit still wants trials: it has no status yet.")
    if walk.step is LookResult.REGRESSED:
        return RegressionStatus.REGRESSED
    ours = [score for score in head[: walk.look.head] if score is not None]
    theirs = [score for score in base[: walk.look.base] if score is not None]
    if rule.worse(walk.base.mean, walk.head.mean):
        p_value = permutation(theirs, ours)
        if p_value <= CLEAR:
            return RegressionStatus.SUSPECT
        if p_value <= ESCALATION:
            return RegressionStatus.NOT_CONFIRMED
    risen = walk.head.mean - walk.base.mean >= LEAST_GRADED_DROP
    return (
        RegressionStatus.IMPROVED
        if risen and permutation(ours, theirs) <= CLEAR
        else RegressionStatus.UNCHANGED
    )


BLOCKS = 64
"""Differences that are turned round one by one; of more, the means of blocks of them."""

_LEVELS = 10_000


def differences(base: Scores, head: Scores) -> list[float]:
    """Return head minus base of one unit, pair by pair; a pair with a lost trial has no say."""
    return [
        ours - theirs
        for theirs, ours in zip(base, head, strict=False)
        if ours is not None and theirs is not None
    ]


def sign_flip(found: Iterable[float]) -> float:
    """Return the one-sided exact p-value, in (0, 1], that the differences are below 0.

    With more than `BLOCKS`, blocks of them are turned round as one, which is exact, too. 1 without
    any. Rounding to a ten thousandth is symmetric, so it changes nothing of that.
    """
    return flipped([_level(one) for one in _blocks(list(found))])


def flipped(sizes: Sequence[int]) -> float:
    """Return the share, in (0, 1], of all ways to turn these numbers round whose sum is at most
    theirs; 1 where all are 0. Exact, for up to some hundreds of numbers.
    """
    spans = [abs(size) for size in sizes if size]
    if not spans:
        return 1.0
    unit, digit = gcd(*spans), len(spans) + 1
    ways = 1
    for span in spans:
        ways += ways << (span // unit * digit)
    # The sum is lowest where all are negative; each that is positive lies its span above that.
    above = (sum(spans) + sum(size for size in sizes if size < 0)) // unit
    up_to = ways & ((1 << ((above + 1) * digit)) - 1)
    return (up_to % ((1 << digit) - 1)) / (1 << len(spans))


def _blocks(found: Sequence[float]) -> list[float]:
    size = ceil(len(found) / BLOCKS) if found else 1
    if size == 1:
        return list(found)
    parts = [found[at : at + size] for at in range(0, len(found), size)]
    return [fsum(part) / size for part in parts]


def _level(difference: float) -> int:
    """Return a difference in ten thousandths, rounded alike on both sides of 0."""
    level = round(abs(difference) * _LEVELS)
    return -level if difference < 0 else level


def graded_broad_step(
    looks: Sequence[Look],
    look: int,
    units: Sequence[tuple[Scores, Scores]],
    share: float,
    *,
    found: bool = False,
    least_drop: float = LEAST_DROP,
) -> Broad:
    """Return what follows at look number `look`, from 0, for (base, head) scores of each unit.

    As `broad_step`, with the paired permutation test: the first trials of a look, as many as both
    sides have, are paired one by one. The chance of a false alarm is at most `share`.
    """
    means, moved = _paired(units, looks[look])
    p_value = sign_flip(moved)
    return step_of(looks, look, means, p_value, share, found=found, least_drop=least_drop)


PAIRS = 12
"""Pairs from which a clear fall can be told with the share of one axis among several."""

_LAST = 15


def axis_looks(repetitions: int, units: int) -> tuple[Look, ...]:
    """Return the looks at an axis of so many units, for which so many trials a side are planned."""
    looks = broad_looks(repetitions)
    last = looks[-1].head
    if last * units >= PAIRS or last >= _LAST:
        return looks
    return (*looks, Look(base=_LAST, head=_LAST))


class Axis(NamedTuple):
    """How an axis is looked at: its looks, its share, and the least drop of its mean."""

    looks: Sequence[Look]
    share: float
    least_drop: float = LEAST_DROP

    def part(self, index: int, units: int) -> float:
        """Return the largest p-value that means regressed at a look, 0 where none can."""
        able = [at for at, look in enumerate(self.looks) if self.share]
        while able and 0.5 ** (self.looks[able[0]].head * units) > self.share / len(able):
            del able[0]
        return self.share / len(able) if index in able else 0.0


def axis_step(
    axis: Axis, index: int, units: Sequence[tuple[Scores, Scores]], *, found: bool = False
) -> Broad:
    """Return what follows at look number `index`, from 0, for (base, head) scores of each unit.

    `found` says that something else blocks already: then no further look is bought.
    """
    means, moved = _paired(units, axis.looks[index])
    if not means:
        return Broad(step=LookResult.STOP, p_value=1.0, base=0.0, head=0.0, at=index)
    base, head = (fsum(side) / len(means) for side in zip(*means, strict=True))
    p_value = sign_flip(moved)
    step = LookResult.STOP
    if base - head >= axis.least_drop - _ROUNDING:
        early = 0.5 ** len(moved) > GO_ON
        if p_value <= axis.part(index, len(units)):
            step = LookResult.REGRESSED
        elif (early or p_value <= GO_ON) and index + 1 < len(axis.looks) and not found:
            step = LookResult.GO_ON
    return Broad(step=step, p_value=p_value, base=base, head=head, at=index)


def axis_rose(units: Sequence[tuple[Scores, Scores]]) -> float:
    """Return the one-sided exact p-value that an axis rose: the mirrored test."""
    return sign_flip(-one for base, head in units for one in differences(base, head))


def _paired(
    units: Sequence[tuple[Scores, Scores]], look: Look
) -> tuple[list[tuple[float, float]], list[float]]:
    """Return both means of each unit with a pair at a look, and the differences of all pairs."""
    means, moved = [], []
    for base, head in units:
        first = base[: look.base], head[: look.head]
        if pairs := differences(*first):
            means.append((sample(first[0]).mean, sample(first[1]).mean))
            moved += pairs
    return means, moved
