"""A probability held against a limit at all pass rates, by an upper bound and not by samples.

A probability that comes from counting sequences of at most n trials is a polynomial of degree n in
the pass rate. In Bernstein form its values lie between its smallest and its largest coefficient
(Lorentz 1953); halving the interval (de Casteljau) brings the coefficients as near as we like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import comb

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
