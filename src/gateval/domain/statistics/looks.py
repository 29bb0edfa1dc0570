"""When a fixture is looked at: how many trials each side has at each look."""

from __future__ import annotations

from typing import Annotated

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
