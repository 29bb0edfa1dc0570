"""Whether a judge is still the one that was calibrated: canaries of one run, and of several.

A canary is an example that the judge answered right each time when it was calibrated. How often it
answers such a one right again, its consistency, was measured there, on so many questions; what is
left unknown of it is Jeffreys' posterior. So the number of wrong canaries of a run is, for the same
judge, beta-binomial, and the test of one run is exact in that.

A judge that is only somewhat worse fails no single run. Over the runs that rely on one agreement a
CUSUM (Page 1954) sums what is wrong beyond what lies between that judge and one of consistency
`FALLEN`. Its limit is the lowest with which a judge that did not change is disbelieved in few
enough of the first `HORIZON` runs, averaged over what is unknown of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil, comb, exp, fsum, lgamma, log, log1p
from typing import NamedTuple

WATCHED = 0.01
"""P(a judge that did not change is disbelieved in a run) is at most this, over all judges."""

FALLEN = 0.70
"""The consistency of a judge that has fallen, to which the CUSUM is tuned."""

HORIZON = 10

_QUARTERS = 4
"""Sums are counted in quarters of a canary."""

_PRIOR = 0.5
_SLICES = 1_500
_HALVINGS = 11
_MOST_WRONG = 0.25


class Consistency(NamedTuple):
    """How often a judge answered examples right again that it had answered right: of so many."""

    right: int
    asked: int

    @property
    def posterior(self) -> tuple[float, float]:
        """The two parameters of the beta distribution of a wrong answer's chance."""
        return self.asked - self.right + _PRIOR, self.right + _PRIOR


class Sums(NamedTuple):
    """The CUSUM of canaries of one length: what a run adds is `wrong` less `reference`."""

    reference: float
    limit: float

    def after(self, before: float, wrong: int, share: float = 1.0) -> float:
        """Return the sum after a run; `share` is how many of its canaries got an answer."""
        return max(0.0, before + wrong - self.reference * share)


def wrong_chances(
    known: Consistency, more: int, asked: int = 0, before: Sequence[float] = (1.0,)
) -> list[float]:
    """Return P(0, 1, … wrong canaries) for the judge that is known, when `more` are asked after so
    many; `before` has what it was then.
    """
    weak, strong = known.posterior
    found = [*before]
    for number in range(asked, asked + more):
        again = [(weak + wrong) / (weak + strong + number) for wrong in range(len(found))]
        found = [
            right * (1 - chance) + wrong * next_wrong
            for right, chance, wrong, next_wrong in zip(
                [*found, 0.0], [*again, 0.0], [0.0, *found], [0.0, *again], strict=True
            )
        ]
    return found


def too_many(known: Consistency, canaries: int, judges: int = 1, looked: Sequence[int] = ()) -> int:
    """Return how many wrong canaries of one run are too many, of several `judges` that are watched;
    more than there are where no number is.

    The run has `looked` already, at fewer of them, and believed its judge: the looks share what a
    run may have.
    """
    left, asked, chances = WATCHED / 2 / judges, 0, [1.0]
    for many in (*looked, canaries):
        chances = wrong_chances(known, many - asked, asked, chances)
        beyond = [fsum(chances[number:]) for number in range(len(chances) + 1)]
        most = next(number for number, chance in enumerate(beyond) if chance <= left)
        asked, left, chances = many, left - beyond[most], chances[:most]
    return most


@cache
def sums_of(known: Consistency, canaries: int, judges: int = 1) -> Sums:
    """Return the CUSUM over runs with so many canaries each."""
    share = WATCHED / 2 / judges
    reference = round(_between(known, canaries) * _QUARTERS)
    chances = [(weight, _binomial(canaries, wrong)) for wrong, weight in _nodes(*known.posterior)]
    low, high = 1, HORIZON * canaries * _QUARTERS
    while low < high:
        middle = (low + high) // 2
        if _disbelieved(chances, reference, middle) <= share:
            high = middle
        else:
            low = middle + 1
    return Sums(reference / _QUARTERS, low / _QUARTERS)


def _binomial(many: int, chance: float) -> list[float]:
    return [comb(many, n) * chance**n * (1 - chance) ** (many - n) for n in range(many + 1)]


def _between(known: Consistency, canaries: int) -> float:
    """Return the number of wrong canaries that speaks for neither: the zero of the likelihoods."""
    weak, strong = known.posterior
    good, bad = min(weak / (weak + strong), _MOST_WRONG), 1 - FALLEN
    odds = log(bad * (1 - good) / (good * (1 - bad)))
    return canaries * (log1p(-good) - log1p(-bad)) / odds


def _disbelieved(
    chances: Sequence[tuple[float, Sequence[float]]], reference: int, limit: int
) -> float:
    """Return the share of the first runs in which the sum reaches its limit."""
    found = 0.0
    for weight, steps in chances:
        sums = {0: 1.0}
        for _ in range(HORIZON):
            after: dict[int, float] = {}
            for before, chance in sums.items():
                for wrong, step in enumerate(steps):
                    now = max(0, before + wrong * _QUARTERS - reference)
                    if now >= limit:
                        found += weight * chance * step
                    else:
                        after[now] = after.get(now, 0.0) + chance * step
            sums = after
    return found / HORIZON


def _nodes(weak: float, strong: float) -> list[tuple[float, float]]:
    """Return chances of a wrong answer with their weights; finer where they are high, and rare."""
    bounds = [1 - 0.5**number for number in range(_HALVINGS)]
    cuts = [low + (1 - low) * part for low in bounds for part in (0.25, 0.5)]
    scale, before = _log_beta(weak, strong), 0.0
    slices: list[tuple[float, float]] = []
    for number in range(_SLICES):
        at, end = ((number + 0.5) / _SLICES) ** 3, ((number + 1) / _SLICES) ** 3
        density = exp((weak - 1) * log(at) + (strong - 1) * log1p(-at) - scale)
        slices.append((at, density * (end - before)))
        before = end
    total = fsum(mass for _, mass in slices)
    groups: dict[int, list[tuple[float, float]]] = {}
    below, group = 0.0, 0
    for at, mass in slices:
        while group < len(cuts) and below >= cuts[group]:
            group += 1
        groups.setdefault(group, []).append((at, mass / total))
        below += mass / total
    return [
        (fsum(at * mass for at, mass in mine) / whole, whole)
        for mine in groups.values()
        if (whole := fsum(mass for _, mass in mine)) > 0
    ]


def _log_beta(one: float, other: float) -> float:
    return lgamma(one) + lgamma(other) - lgamma(one + other)


def rounds_for(examples: int, wanted: int) -> int:
    """Return how often so many examples are asked again, so that `wanted` questions come together;
    0 where there is none.
    """
    return ceil(wanted / examples) if examples else 0
