"""What is said of an axis whose scores differ, and of one whose scores do not."""

from __future__ import annotations

import pytest

from gateval.domain.results.comparison import AxisComparison, FixtureChange
from gateval.render.report.scores import said_of


@pytest.mark.parametrize(
    ("change", "head", "base", "said"),
    [
        (FixtureChange.UNCHANGED, 0.0, 1.0, "could be chance"),
        (FixtureChange.UNCHANGED, 0.5, 0.5, "unchanged"),
        (FixtureChange.UNCHANGED, 0.501, 0.5, "unchanged"),
        (FixtureChange.REGRESSED, 0.0, 1.0, "regressed"),
        (FixtureChange.NOT_COMPARED, 0.5, None, "not compared"),
        (FixtureChange.NOT_COMPARED, 0.0, 1.0, "no test of its own"),
    ],
)
def test_a_difference_is_never_called_unchanged(
    change: FixtureChange, head: float, base: float | None, said: str
) -> None:
    compared = AxisComparison(
        axis="safety", change=change, head=head, base=base, fixtures=2, measured=2
    )
    assert said_of(compared) == said


def test_an_axis_that_was_not_measured_is_called_neither_better_nor_worse() -> None:
    compared = AxisComparison(
        axis="safety",
        change=FixtureChange.UNCHANGED,
        head=None,
        base=0.9,
        fixtures=2,
        measured=0,
        measured_base=2,
    )
    assert said_of(compared) == "inconclusive"
