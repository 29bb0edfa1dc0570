"""Which compared fixtures are tested together: all of an Eval, the cases of each file, an axis.

The cases of one file are a family. Up to `ALONE_AT_MOST` of them are tested alone, too; beyond
that, the family is tested in one look at the planned trials, which has power enough: 201 cases
of rate .95 that fall by ten points are found in 19 of 20 runs, and a second look would cost
thousands of trials.

A quality that weighs little can fall while the whole stays as it is, so each axis of scores has a
test over all fixtures that have it. Where there is one axis only, the test of everything is that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.manifests.axes import weighed_axes
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.statistics.broad import LEAST_DROP, LEAST_DROP_OF_MANY
from gateval.domain.statistics.graded.broad import axis_looks
from gateval.domain.statistics.looks import Look, broad_looks

ALONE_AT_MOST = 200
"""Compared cases of one file up to which each is tested alone."""


class Joint(NamedTuple):
    """One test of several fixtures together; `family` is empty where it is all of an Eval.

    `axis` is the one whose scores it tests, empty for the whole.

    `looks` are those at every fixture of it, `least_drop` that of their mean rate, in [0, 1].
    """

    family: str
    fixtures: tuple[str, ...]
    looks: tuple[Look, ...]
    least_drop: float
    share: float = 0.0
    axis: str = ""


def families(fixtures: Iterable[Fixture], compared: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the compared cases by family, those of one case alone left out."""
    known = set(compared)
    found: dict[str, list[str]] = {}
    for fixture in fixtures:
        if fixture.family and fixture.name in known:
            found.setdefault(fixture.family, []).append(fixture.name)
    return {family: names for family, names in found.items() if len(names) > 1}


def together_only(fixtures: Iterable[Fixture], compared: Iterable[str]) -> frozenset[str]:
    """Return the compared fixtures that are tested with their family and never alone."""
    found = families(fixtures, compared)
    return frozenset(
        name for names in found.values() if len(names) > ALONE_AT_MOST for name in names
    )


def joint_tests(
    fixtures: Sequence[Fixture], compared: Sequence[str], repetitions: int
) -> tuple[Joint, ...]:
    """Return the tests of an Eval, that of everything first; a family that is all has no other."""
    if len(compared) < 2:
        return ()
    of_file = families(fixtures, compared)
    together = together_only(fixtures, compared)
    groups = [("", tuple(compared))]
    groups += [
        (name, tuple(cases)) for name, cases in of_file.items() if len(cases) < len(compared)
    ]
    looks = broad_looks(repetitions)
    return tuple(_joint(names, together, looks)._replace(family=family) for family, names in groups)


def axis_tests(
    fixtures: Sequence[Fixture], compared: Sequence[str], repetitions: int
) -> tuple[Joint, ...]:
    """Return the tests of the axes of these compared fixtures; none where there is one axis."""
    known = set(compared)
    axes = weighed_axes(one for one in fixtures if one.name in known)
    if len(axes) < 2:
        return ()
    together = together_only(fixtures, compared)
    return tuple(
        _joint(names, together, axis_looks(repetitions, len(names)))._replace(axis=axis)
        for axis, names in axes.items()
    )


def _joint(names: tuple[str, ...], together: frozenset[str], looks: tuple[Look, ...]) -> Joint:
    if together.isdisjoint(names):
        return Joint("", names, looks, LEAST_DROP)
    return Joint("", names, looks[:1], LEAST_DROP_OF_MANY)
