"""Fisher's exact test for one fixture: how surprising head's passes are if nothing changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from math import comb


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
