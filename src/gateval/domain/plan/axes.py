"""Which axes of an Eval with scores are tested by themselves, each over all fixtures that have it.

A quality that weighs little can fall while the whole stays as it is. Where there is one axis only,
the test of everything is that of the axis.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.manifests.axes import weighed_axes
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.joint import Joint, together_only
from gateval.domain.statistics.broad import LEAST_DROP, LEAST_DROP_OF_MANY
from gateval.domain.statistics.graded.axes import axis_looks


def axis_tests(
    fixtures: Sequence[Fixture], compared: Sequence[str], repetitions: int
) -> tuple[Joint, ...]:
    """Return the tests of the axes of these compared fixtures; none where there is one axis."""
    known = set(compared)
    axes = weighed_axes(one for one in fixtures if one.name in known)
    if len(axes) < 2:
        return ()
    many = together_only(fixtures, compared)
    return tuple(_test(axis, names, repetitions, many) for axis, names in axes.items())


def _test(axis: str, names: tuple[str, ...], repetitions: int, many: frozenset[str]) -> Joint:
    looks = axis_looks(repetitions, len(names))
    if many.isdisjoint(names):
        return Joint("", names, looks, LEAST_DROP, axis=axis)
    return Joint("", names, looks[:1], LEAST_DROP_OF_MANY, axis=axis)
