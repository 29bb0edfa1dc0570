"""Tables of which a part runs always and the whole in `make test-all`.

Each row takes a run or more of the whole product, so all of them would take minutes in each CI run.
Property tests look at a part of their examples likewise, and at others in each run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

WHOLE = 100
"""Examples of a property that asks for no number, where the whole is looked at."""

PART = 20
"""Of these, each CI run looks at so many."""


def register_profiles() -> None:
    """Tell Hypothesis the two tiers: `part`, which holds at once, and `whole`, by its option.

    No example fails for being slow: the machine may be busy.
    """
    settings.register_profile("whole", deadline=None, max_examples=WHOLE)
    settings.register_profile("part", deadline=None, max_examples=PART)
    settings.load_profile("part")


def examples(whole: int) -> int:
    """Return how many of `whole` examples this run looks at."""
    return whole * settings().max_examples // WHOLE


def some_always(rows: Iterable[Any], every: int, *, spread: bool = False) -> list[Any]:
    """Return the rows as parameters; only each `every`-th, the first included, runs always.

    With `spread` a row is a tuple of several parameters.
    """
    nightly = (pytest.mark.exhaustive,)
    return [
        pytest.param(*(row if spread else (row,)), marks=nightly if number % every else ())
        for number, row in enumerate(rows)
    ]
