"""Tables of which a part runs always and the whole in `make test-all`.

Each row takes a run or more of the whole product, so all of them would take minutes in each CI run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_always(rows: Iterable[Any], every: int, *, spread: bool = False) -> list[Any]:
    """Return the rows as parameters; only each `every`-th, the first included, runs always.

    With `spread` a row is a tuple of several parameters.
    """
    nightly = (pytest.mark.exhaustive,)
    return [
        pytest.param(*(row if spread else (row,)), marks=nightly if number % every else ())
        for number, row in enumerate(rows)
    ]
