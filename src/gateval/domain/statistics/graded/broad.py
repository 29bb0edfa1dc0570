"""The rule for several units with scores: each a little worse, and all of them together clearly."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.statistics.broad import LEAST_DROP, Broad, step_of
from gateval.domain.statistics.graded.grid import Scores, sample
from gateval.domain.statistics.graded.paired import differences, sign_flip
from gateval.domain.statistics.looks import Look


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
    at = looks[look]
    first = [(base[: at.base], head[: at.head]) for base, head in units]
    pairs = [differences(base, head) for base, head in first]
    means = [
        (sample(base).mean, sample(head).mean)
        for (base, head), pair in zip(first, pairs, strict=True)
        if pair
    ]
    p_value = sign_flip(one for pair in pairs for one in pair) if means else 1.0
    return step_of(looks, look, means, p_value, share, found=found, least_drop=least_drop)
