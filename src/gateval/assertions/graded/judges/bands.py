"""What points of a rubric's check mean: written as a list of ranges, or by their lower ends."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from gateval.domain.base import Spec
from gateval.judging.checklist import POINTS, Band


class RubricBand(Spec):
    """What the points from `low` to `high` mean."""

    low: int = Field(ge=0, le=POINTS, description="The lowest points of the range.")
    high: int = Field(ge=0, le=POINTS, description="The highest points of the range.")
    text: str = Field(min_length=1, max_length=5_000, description="What they mean.")


def bands_of(ranges: Sequence[RubricBand] | dict[str, str]) -> tuple[Band, ...]:
    """Return the bands of a list of ranges; `{0: …, 4: …, 8: …}` names the lowest points of each.

    Raises `ValueError` where a mapping does not name points, or does not begin at 0.
    """
    if not isinstance(ranges, dict):
        return tuple(Band(low=one.low, high=one.high, text=one.text) for one in ranges)
    by_low = sorted((_points(key), text) for key, text in ranges.items())
    if by_low and by_low[0][0] != 0:
        raise ValueError("the first range begins at 0")
    if len({low for low, _ in by_low}) < len(by_low):
        raise ValueError("two ranges begin with the same points")
    highs = [*(low - 1 for low, _ in by_low[1:]), POINTS]
    return tuple(
        Band(low=low, high=high, text=text)
        for (low, text), high in zip(by_low, highs, strict=False)
    )


def refuse_gaps(bands: Sequence[Band]) -> None:
    """Raise `ValueError` unless every number of points from 0 to 10 stands in one range."""
    covered = [points for band in bands for points in range(band.low, band.high + 1)]
    for band in bands:
        if band.low > band.high:
            raise ValueError(f"the range from {band.low} to {band.high} is empty")
    for points in range(POINTS + 1):
        if points not in covered:
            raise ValueError(f"no range says what {points} points mean")
        if covered.count(points) > 1:
            raise ValueError(f"two ranges say what {points} points mean")


def _points(key: str) -> int:
    if not (key.isascii() and key.isdigit() and int(key) <= POINTS):
        raise ValueError(f"`{key[:40]}` is no number of points from 0 to {POINTS}")
    return int(key)
