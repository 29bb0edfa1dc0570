"""Says of many cases of one file in a line what would else be said of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from gateval.domain.manifests.fixture import Fixture
from gateval.domain.plan.bar import Lowered, Reason
from gateval.domain.plan.planned_eval import Removed

EACH = 3
"""Cases of one file up to which something is said of each."""

Said = TypeVar("Said")


def grouped(
    items: Iterable[Said],
    key: Callable[[Said], Hashable | None],
    one_for: Callable[[Sequence[Said]], Said],
) -> list[Said]:
    """Return the items in order, one in place of more than `EACH` with the same key.

    Those whose key is None stand for themselves.
    """
    groups: dict[Hashable, list[Said]] = {}
    for number, item in enumerate(items):
        found = key(item)
        groups.setdefault(("", number) if found is None else ("of", found), []).append(item)
    return [
        each
        for group in groups.values()
        for each in ([one_for(group)] if len(group) > EACH else group)
    ]


def reasons_for_cases(told: Iterable[tuple[Fixture, str]]) -> list[Reason]:
    """Return a reason for each fixture and what happened to it (`added`), families in one."""

    def several(group: Sequence[tuple[Fixture, str]]) -> tuple[Fixture, str]:
        first, what = group[0]
        return first.model_copy(
            update={"name": ""}
        ), f"{len(group):,} cases of {first.family} {what}"

    found = grouped(told, lambda one: (one[0].family, one[1]) if one[0].family else None, several)
    return [
        Reason(
            where=f"{fixture.place.file}:{fixture.place.line}",
            what=f"fixture {fixture.name} {what}" if fixture.name else what,
        )
        for fixture, what in found
    ]


def removed_cases(gone: Sequence[Fixture], evaluation: str) -> list[Removed]:
    """Return what head no longer runs of an Eval, families in one."""
    by_name = {one.name: one for one in gone}

    def family(one: Removed) -> str | None:
        return by_name[one.name].family or None

    def several(group: Sequence[Removed]) -> Removed:
        more = f"{group[0].name} and {len(group) - 1:,} more cases of {family(group[0])}"
        return group[0].model_copy(update={"name": more})

    each = [
        Removed(kind="fixture", name=one.name, eval=evaluation, place=one.place) for one in gone
    ]
    return grouped(each, family, several)


def lowered_cases(said: Iterable[Lowered]) -> tuple[Lowered, ...]:
    """Return what is lowered, with one entry for the same edit of many cases of a file."""

    def edit(one: Lowered) -> str:
        of_all = one.what.replace(one.fixture, one.family)
        return re.sub(r"assertion (\S+) .* of fixture", r"assertion \1 of fixture", of_all)

    def several(group: Sequence[Lowered]) -> Lowered:
        cases = len({one.fixture for one in group})
        what = f"{edit(group[0])}: {cases:,} cases, the first {group[0].fixture}"
        return group[0].model_copy(update={"what": what})

    return tuple(grouped(said, lambda one: (edit(one), one.moved) if one.family else None, several))
