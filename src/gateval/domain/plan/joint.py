"""Which compared fixtures are tested together: all of an Eval, and the cases of each file.

The cases of one file are a family. Up to `ALONE_AT_MOST` of them are tested alone, too; beyond
that, the family is tested in one look at the planned trials, which has power enough: 201 cases
of rate .95 that fall by ten points are found in 19 of 20 runs, and a second look would cost
thousands of trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.statistics.broad import LEAST_DROP, LEAST_DROP_OF_MANY
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
    alone = together_only(fixtures, compared)
    groups = [("", tuple(compared))]
    groups += [
        (name, tuple(cases)) for name, cases in of_file.items() if len(cases) < len(compared)
    ]
    return tuple(_joint(family, names, alone, repetitions) for family, names in groups)


def _joint(family: str, names: tuple[str, ...], alone: frozenset[str], repetitions: int) -> Joint:
    looks = broad_looks(repetitions)
    if alone.isdisjoint(names):
        return Joint(family, names, looks, LEAST_DROP)
    return Joint(family, names, looks[:1], LEAST_DROP_OF_MANY)
