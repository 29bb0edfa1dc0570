"""Tables of which a part runs always and the whole in `make test-all`.

Each row takes a run or more of the whole product, so all of them would take minutes in each CI run.
Property tests look at a part of their examples likewise, and at others in each run; so do tables that
are marked `drawn`: each commit draws rows by its name.
"""

from __future__ import annotations

import functools
import random
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
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


@functools.cache
def commit() -> str:
    """Return the commit of the tests; without git, nothing."""
    words = ["git", "rev-parse", "HEAD"]
    here = Path(__file__).parent
    found = subprocess.run(words, cwd=here, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def draw(items: Iterable[pytest.Item]) -> None:
    """Leave to the nights the rows of tests marked `drawn` that this commit does not draw.

    The mark names parameters: of rows that differ in these alone, one is drawn, for each test anew.
    """
    tables: defaultdict[tuple[object, ...], list[pytest.Item]] = defaultdict(list)
    for item in items:
        names = {one for mark in item.iter_markers("drawn") for one in mark.args}
        params: dict[str, object] = item.callspec.params if hasattr(item, "callspec") else {}
        if names & set(params) and not item.get_closest_marker("exhaustive"):
            row = sorted((name, id(value)) for name, value in params.items())
            kind = (one for one in row if one[0] not in names)
            tables[item.nodeid.partition("[")[0], *kind].append(item)
    for rows in tables.values():
        drawn = random.Random(f"{commit()} {rows[0].nodeid}").choice(rows)
        for item in rows:
            if item is not drawn:
                item.add_marker("exhaustive")
