"""Large tables of which a part runs always and the whole in `make test-all`.

Each row takes a run or more of the whole product, so all of them would take minutes in each CI run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_always(rows: Iterable[Any], every: int) -> list[Any]:
    """Return the rows as parameters; only each `every`-th, the first included, runs always."""
    return [
        row if number % every == 0 else pytest.param(row, marks=pytest.mark.exhaustive)
        for number, row in enumerate(rows)
    ]
