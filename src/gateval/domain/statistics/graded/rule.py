"""The rule for one unit with scores: the looks of the rule for passes, with permutation tests.

At each look the exact p-value decides: at most that look's part, and head has regressed; at most
the escalation limit, and more trials are made; else the unit stops. The parts sum to the unit's
share of the false-alarm budget, so the chance that an unchanged unit ever regresses is at most the
share, whatever its scores are like and wherever it stops (union bound). At an entry look, which has
too few trials for a p-value, a unit goes on if head's mean is below base's by the least drop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb

from gateval.domain.base import Value
from gateval.domain.statistics.design import WEAKEST_CUT, Design, LookResult
from gateval.domain.statistics.graded.grid import Sample, Scores, sample
from gateval.domain.statistics.graded.permutation import permutation
from gateval.domain.statistics.looks import ENTRY_BELOW, Look
from gateval.domain.statistics.regions import going_on_region, regressed_region

LEAST_DROP = 0.05
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
        return base - head >= LEAST_DROP - _ROUNDING or (flips and base > head)


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
    while able and _least(looks[able[0]]) > share / len(able):
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


def _least(look: Look) -> float:
    """The smallest p-value that a look can give: all of head's scores below all of base's."""
    return 1 / comb(look.trials, look.head)
