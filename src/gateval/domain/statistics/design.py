"""The rule for one fixture: a finite group-sequential exact design, calibrated by counting.

At each look the p-value of Fisher's exact test decides: at most the cut, and head has regressed; at
most the escalation limit, and more trials are made; else the fixture stops. At an entry look, which
has too few trials for a p-value, a fixture goes on if head's rate is below base's. The cut is the
largest for which, at equal rates, whatever they are, the chance of ever meeting it is at most the
share of the false-alarm budget. The regions are monotone: more passes of head never lead to
regressed sooner. So equal rates are the worst case of "head is not worse".

All sequences with the same passes on each side are equally likely, whatever the two rates are. So
the integers counted here give every exact figure: the false alarm, the power, the trials spent.

Whole numbers decide at run time, so no rounding can.

A probability that comes from counting sequences of at most n trials is a polynomial of degree n in
the pass rate. In Bernstein form its values lie between its smallest and its largest coefficient
(Lorentz 1953); halving the interval (de Casteljau) brings the coefficients as near as we like.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from math import comb, fsum
from typing import Annotated, NamedTuple

from pydantic import Field

from gateval.domain.base import Value

LATER_LOOKS = (6, 10, 15)
"""Head's trials at the looks after the first."""

ENTRY_BELOW = 3
"""A look with fewer trials of head is an entry look: no p-value can tell anything there."""

_AFTER_ONE = 3
_BASE_AFTER_ONE = (0, 2, 5, 10, 15)
_BASE_PER_STEP = 5
_LEAST_STEP = 2
_LEAST_SECOND = 6
_MOST_SECOND = 15


class Look(Value):
    """The trials of each side at one look, all of them counted from the first."""

    base: Annotated[int, Field(ge=1)]
    head: Annotated[int, Field(ge=1)]

    @property
    def trials(self) -> int:
        """The trials of both sides."""
        return self.base + self.head


@lru_cache(1_024)
def looks(reps_per_fixture: int, stored: int = 0) -> tuple[Look, ...]:
    """Return the looks at a fixture for which `reps_per_fixture` trials a side are planned.

    The first look is at the planned trials; then come those of 6, 10 and 15 that add at least two
    trials to them, after a single trial one more at 3. Who plans 14 or more gets one look: nothing
    is bought beyond what was asked for. `stored` base trials, taken before, count at every look.
    Each step buys 5 base trials (after a single one 2, 3, 5 and 5), and base never has fewer trials
    than head. Without stored trials: (1, 1), (3, 3), (6, 6), (10, 10), (15, 15) for one repetition,
    (3, 3), (8, 6), (13, 10), (18, 15) for three.
    Raises ValueError for less than one planned trial or less than none stored.
    """
    if reps_per_fixture < 1 or stored < 0:
        raise ValueError(
            f"{reps_per_fixture} repetitions and {stored} stored trials are no plan: at least one "
            "repetition is needed, and nobody stores fewer than 0 trials."
        )
    start = stored if reps_per_fixture == 1 else max(stored, reps_per_fixture)
    return tuple(
        Look(base=max(head, start + _bought(reps_per_fixture, index)), head=head)
        for index, head in enumerate(_heads(reps_per_fixture))
    )


def broad_looks(reps_per_fixture: int, stored: int = 0) -> tuple[Look, ...]:
    """Return the looks: at the planned trials, then at twice as many, at least 6.

    The second falls away where it would take more than 15. Base has its `stored` trials, or as many
    as head. At each look the first trials of every fixture take part, never those that only some
    fixtures were given: they are selected.
    """
    second = max(_LEAST_SECOND, 2 * reps_per_fixture)
    heads = [reps_per_fixture] + [second] * (second <= _MOST_SECOND)
    return tuple(Look(base=max(stored, head), head=head) for head in heads)


def _heads(first: int) -> tuple[int, ...]:
    later = (_AFTER_ONE, *LATER_LOOKS) if first == 1 else LATER_LOOKS
    return (first, *(head for head in later if head >= first + _LEAST_STEP))


def _bought(first: int, step: int) -> int:
    return _BASE_AFTER_ONE[step] if first == 1 else _BASE_PER_STEP * step


Limits = Sequence[Sequence[int]]
"""For each look, for each count of base's passes: the most passes of head that still lead there."""

Counts = dict[tuple[int, int], int]
"""(base's passes, head's passes) → the number of sequences of trials."""


class Arrival(NamedTuple):
    """The sequences that get as far as one look, by what is decided there."""

    look: Look
    regressed: Counts
    going_on: Counts
    stopped: Counts


def arrivals(looks: Sequence[Look], regressed: Limits, going_on: Limits) -> list[Arrival]:
    """Return for each look the sequences that arrive there.

    A sequence regresses where head's passes are at most the limit in `regressed`, else goes on
    where they are at most that in `going_on` (it must not at the last look), else stops.
    """
    result = []
    states: Counts = {(0, 0): 1}
    base, head = 0, 0
    for index, look in enumerate(looks):
        states = _extended(states, look.base - base, look.head - head)
        base, head = look.base, look.head
        arrival = Arrival(look, {}, {}, {})
        for (base_passes, head_passes), count in states.items():
            if head_passes <= regressed[index][base_passes]:
                where = arrival.regressed
            elif head_passes <= going_on[index][base_passes]:
                where = arrival.going_on
            else:
                where = arrival.stopped
            where[base_passes, head_passes] = count
        result.append(arrival)
        states = arrival.going_on
    return result


def regressed_by_passes(looks: Sequence[Look], arrived: Sequence[Arrival]) -> Counts:
    """Return the regressed sequences by (trials of both sides, passes of both sides)."""
    result: defaultdict[tuple[int, int], int] = defaultdict(int)
    for look, arrival in zip(looks, arrived, strict=True):
        for (base, head), count in arrival.regressed.items():
            result[look.trials, base + head] += count
    return dict(result)


def probability(
    counts: Mapping[tuple[int, int], int], look: Look, base: float, head: float
) -> float:
    """Return the probability of the sequences in `counts` at `look`, for the two pass rates."""
    base_chances = [base**x * (1 - base) ** (look.base - x) for x in range(look.base + 1)]
    head_chances = [head**x * (1 - head) ** (look.head - x) for x in range(look.head + 1)]
    return sum(count * base_chances[x] * head_chances[y] for (x, y), count in counts.items())


def _extended(states: Counts, more_base: int, more_head: int) -> Counts:
    after_base: defaultdict[tuple[int, int], int] = defaultdict(int)
    for (base, head), count in states.items():
        for passes in range(more_base + 1):
            after_base[base + passes, head] += count * comb(more_base, passes)
    after_head: defaultdict[tuple[int, int], int] = defaultdict(int)
    for (base, head), count in after_base.items():
        for passes in range(more_head + 1):
            after_head[base, head + passes] += count * comb(more_head, passes)
    return after_head


def fisher(base_passes: int, base_trials: int, head_passes: int, head_trials: int) -> float:
    """Return the one-sided exact p-value that head is worse than base, in (0, 1].

    It is P(head has at most `head_passes` | all passes of both sides) under equal rates:
    hypergeometric (Fisher 1935). The quotient of two integers is rounded correctly, so equal
    p-values are equal floats on every machine.
    Raises ValueError if a count is negative or more than its trials.
    """
    if not (0 <= base_passes <= base_trials and 0 <= head_passes <= head_trials):
        raise ValueError(
            f"{base_passes} of {base_trials} and {head_passes} of {head_trials} are no counts of "
            "passes: each must lie between 0 and its trials."
        )
    column = _column(base_trials, head_trials, base_passes + head_passes)
    return column[head_passes - max(0, base_passes + head_passes - base_trials)]


def improvement(base_passes: int, base_trials: int, head_passes: int, head_trials: int) -> float:
    """Return the mirrored p-value that head is better than base, in (0, 1]; raises as `fisher`."""
    return fisher(head_passes, head_trials, base_passes, base_trials)


def weights(base_trials: int, head_trials: int, passes: int) -> Iterator[int]:
    """Yield, for each possible count of head's passes, the ways to get it out of `passes` in all.

    The first is for the smallest count, max(0, passes - base_trials); they sum to
    C(base_trials + head_trials, passes).
    """
    lowest, highest = max(0, passes - base_trials), min(head_trials, passes)
    for head in range(lowest, highest + 1):
        yield comb(head_trials, head) * comb(base_trials, passes - head)


@cache
def _column(base_trials: int, head_trials: int, passes: int) -> tuple[float, ...]:
    total = comb(base_trials + head_trials, passes)
    return tuple(ways / total for ways in accumulate(weights(base_trials, head_trials, passes)))


LEAST_DROP_TENTHS = 1
"""Head's rate must be at least this many tenths below base's to be regressed."""

NEVER = -1


def attainable(looks: Sequence[Look], most: float) -> list[float]:
    """Return all p-values up to `most` that any look can give, smallest first."""
    values = {
        fisher(base, look.base, head, look.head)
        for look in looks
        for base in range(look.base + 1)
        for head in range(look.head + 1)
    }
    return sorted(value for value in values if value <= most)


def regressed_region(looks: Sequence[Look], cut: float) -> tuple[tuple[int, ...], ...]:
    """Return where head has regressed: p at most `cut`, and a drop of ten points or more."""
    return tuple(
        tuple(_most_passes(look, base, cut, LEAST_DROP_TENTHS) for base in range(look.base + 1))
        for look in looks
    )


def going_on_region(looks: Sequence[Look], escalation: float) -> tuple[tuple[int, ...], ...]:
    """Return where more trials are made: p at most `escalation`, or worse at an entry look."""

    def most(index: int, look: Look, base: int) -> int:
        if index == len(looks) - 1:
            return NEVER
        if look.head < ENTRY_BELOW:
            return (base * look.head - 1) // look.base
        return _most_passes(look, base, escalation, 0)

    return tuple(
        tuple(most(index, look, base) for base in range(look.base + 1))
        for index, look in enumerate(looks)
    )


def _most_passes(look: Look, base: int, limit: float, drop_tenths: int) -> int:
    """The most passes of head with a p-value of at most `limit` and at least that drop."""
    most = NEVER
    for head in range(look.head + 1):
        drop = 10 * (base * look.head - head * look.base)
        if drop < drop_tenths * look.base * look.head:
            break
        if fisher(base, look.base, head, look.head) > limit:
            break
        most = head
    return most


_DEEPEST = 40
_ROUNDING = 1e-12


def coefficients(counts: Mapping[tuple[int, int], int], degree: int) -> list[float]:
    """Return the Bernstein coefficients of sum(count * q^s * (1 - q)^(n - s)).

    `counts` maps (n, s), trials and passes with n <= `degree`, to a number of sequences.
    """
    raised = [0] * (degree + 1)
    for (trials, passes), count in counts.items():
        for more in range(degree - trials + 1):
            raised[passes + more] += count * comb(degree - trials, more)
    return [count / comb(degree, passes) for passes, count in enumerate(raised)]


def never_above(bernstein: Sequence[float], limit: float) -> bool:
    """Tell whether the polynomial is at most `limit` on all of [0, 1]; in doubt it says no."""
    limit *= 1 - _ROUNDING
    pending = [(list(bernstein), 0)]
    while pending:
        piece, depth = pending.pop()
        if max(piece) <= limit:
            continue
        if piece[0] > limit or piece[-1] > limit or depth == _DEEPEST:
            return False
        pending += [(half, depth + 1) for half in _halves(piece)]
    return True


def _halves(piece: list[float]) -> tuple[list[float], list[float]]:
    left, right = [piece[0]], [piece[-1]]
    while len(piece) > 1:
        piece = [(one + other) / 2 for one, other in pairwise(piece)]
        left.append(piece[0])
        right.append(piece[-1])
    return left, right[::-1]


ESCALATION = 0.25
"""The largest p-value at which a fixture goes on to the next look."""

WEAKEST_CUT = 0.05
"""No p-value above it is ever called regressed, however large the share is."""


class LookResult(StrEnum):
    """What follows from one look."""

    REGRESSED = "regressed"
    GO_ON = "go on"
    STOP = "stop"


class Design(Value):
    """A calibrated design.

    `regressed` and `going_on` hold, for each look and each count of base's passes, the most passes
    of head that still lead there (-1: none does).
    """

    looks: tuple[Look, ...]
    share: float
    escalation: float
    cut: float
    regressed: tuple[tuple[int, ...], ...]
    going_on: tuple[tuple[int, ...], ...]

    def __hash__(self) -> int:
        return hash((self.share, self.cut))


def step(design: Design, look: int, base_passes: int, head_passes: int) -> LookResult:
    """Return what follows from the passes at look number `look`, counted from 0.

    A look is only reached by going on at all looks before it: a fixture that stopped, by the rule
    or for cost, is never looked at again.
    """
    if head_passes <= design.regressed[look][base_passes]:
        return LookResult.REGRESSED
    return (
        LookResult.GO_ON if head_passes <= design.going_on[look][base_passes] else LookResult.STOP
    )


@cache
def design(looks: tuple[Look, ...], share: float, escalation: float = ESCALATION) -> Design:
    """Return the design for `looks` whose chance of a false alarm is at most `share`.

    The stops are counted in; they do not depend on the cut, so the chance only grows with it. The
    cut is the largest attainable p-value that keeps the share, and at most `WEAKEST_CUT`; 0 if none
    does. Raises ValueError if `share` is not in (0, 1).
    """
    if not 0 < share < 1:
        raise ValueError(f"A share of the false-alarm budget lies between 0 and 1, not at {share}.")
    going_on = going_on_region(looks, escalation)
    cuts = attainable(looks, min(WEAKEST_CUT, escalation))
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high + 1) // 2
        regressed = regressed_region(looks, cuts[middle - 1])
        counts = regressed_by_passes(looks, arrivals(looks, regressed, going_on))
        chance = coefficients(counts, looks[-1].trials)
        low, high = (middle, high) if never_above(chance, share) else (low, middle - 1)
    cut = cuts[low - 1] if low else 0.0
    return Design(
        looks=looks,
        share=share,
        escalation=escalation,
        cut=cut,
        regressed=regressed_region(looks, cut),
        going_on=going_on,
    )


def first_looks(design: Design, many: int) -> Design:
    """Return what is left of a design where nobody gets further than its first `many` looks.

    The cut stays: it is that of the whole, so the chance of a false alarm only falls.
    """
    if many >= len(design.looks):
        return design
    return design.replace(
        looks=design.looks[:many],
        regressed=design.regressed[:many],
        going_on=design.going_on[:many],
    )


def counted_only(look: Look) -> Design:
    """Return the design of a fixture that is not tested by itself: one look without effect."""
    never = ((NEVER,) * (look.base + 1),)
    return Design(
        looks=(look,), share=0.0, escalation=0.0, cut=0.0, regressed=never, going_on=never
    )


FIXTURES = 0.03
"""P(any unchanged fixture of a run is called regressed) is at most this."""

BROAD = 0.02
"""P(any Eval of an unchanged agent is called broadly slipped) is at most this."""


def split(budget: float, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the part of `budget` that each name gets, in proportion to its weight.

    Equal weights split it equally; the parts sum to at most `budget` (Bonferroni: the chance of any
    false alarm is at most the sum). Raises ValueError unless all weights are finite and above 0.
    """
    total = fsum(weights.values())
    if any(not 0 < weight < float("inf") for weight in weights.values()):
        raise ValueError("A weight must be a finite number above 0.")
    return {name: budget * (weight / total) for name, weight in weights.items()}


SILENCE_PART = 0.1
"""The part of an Eval's budget for fixtures that goes to those tested with their family only.

Of these nothing is tested alone but whether they fall silent.
"""


class EvalErrorBudget(NamedTuple):
    """The shares of one Eval: of a fixture tested alone, of the silence of one that is tested with
    its family only, and of all tests of several fixtures.
    """

    fixture: float
    silence: float
    joint: float


def eval_shares(fixtures: float, broad: float, alone: int, together: int) -> EvalErrorBudget:
    """Return how an Eval splits its parts of both budgets; what nobody needs goes to joint tests.

    `alone` and `together` count the fixtures tested alone, and with their family only. All tests
    together spend at most `fixtures + broad` (Bonferroni).
    """
    silence = fixtures * SILENCE_PART if together else 0.0
    rest = fixtures - silence
    return EvalErrorBudget(
        fixture=fixture_share(rest, alone) if alone else 0.0,
        silence=silence / together if together else 0.0,
        joint=broad if alone else broad + rest,
    )


AXES_PART = 0.4
"""The part of an Eval's budget for joint tests that goes to its axes, if it has several."""


PREFERENCE_PART = 0.5
"""The part of an Eval's budget for joint tests that goes to its preferences, if it has any: .01 in
a run of one Eval."""


class JointErrorBudget(NamedTuple):
    """The shares of the test of all fixtures, of each family, of each axis, and of preferences."""

    whole: float
    family: float
    axis: float
    preference: float = 0.0


def joint_shares(
    joint: float, families: int, axes: int = 0, *, preferences: bool = False
) -> JointErrorBudget:
    """Return how the joint tests split their share (Bonferroni).

    Preferences come first. Of what the axes leave of the rest, the test of all fixtures keeps half,
    so that many small families do not silence it. Axes get equal parts: none of them is known to
    matter more than another.
    """
    preferred = joint * PREFERENCE_PART if preferences else 0.0
    own = (joint - preferred) * AXES_PART if axes else 0.0
    rest = joint - preferred - own
    each = own / axes if axes else 0.0
    if not families:
        return JointErrorBudget(rest, 0.0, each, preferred)
    return JointErrorBudget(rest / 2, rest / 2 / families, each, preferred)


def fixture_share(eval_share: float, fixtures: int) -> float:
    """Return the share of each of an Eval's `fixtures` that are compared, at least one."""
    if fixtures < 1:
        raise ValueError("A share is for fixtures that are compared; there is none.")
    return eval_share / fixtures
