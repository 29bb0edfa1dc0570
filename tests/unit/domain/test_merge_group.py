"""Who is in a merge group, by its ref and its commits."""

from __future__ import annotations

import pytest

from gateval.domain.forge.trigger import Landed, group_members, known_for_certain


@pytest.mark.parametrize(
    ("subjects", "members"),
    [
        ([], (7,)),
        (["Rebased, without a number"], (7,)),
        (["Merge pull request #7 from acme/b", "Merge pull request #5 from acme/a"], (5, 7)),
        (["Squashed (#7)", "Another one (#12)"], (7, 12)),
        (["A title that ends like one (#99) (#7)"], (7,)),
        (["See (#99) for more", "#98", "(#0)", "(#9999999999)"], (7,)),
        (["Fake\n(#6)", "Mine (#7)"], (6, 7)),
        (["Picked from another branch (#99)"], (7,)),
    ],
)
def test_members(subjects: list[str], members: tuple[int, ...]) -> None:
    assert group_members(7, [Landed(subject) for subject in subjects]) == members


def test_a_title_that_looks_like_a_merge() -> None:
    assert group_members(7, [Landed("Merge pull request #9 from here (#7)")]) == (7,)


@pytest.mark.parametrize(
    ("commits", "known"),
    [
        ([], False),
        ([Landed("Whatever its author says", merge=False)], True),
        ([Landed("Squashed (#7)", merge=False)], True),
        ([Landed("Picked from another branch (#9)", merge=False)], True),
        ([Landed("Merge pull request #7 from a/b"), Landed("Title (#5)")], True),
        ([Landed("Merge pull request #7 from a/b"), Landed("Fast-forward")], False),
        ([Landed("Merge pull request #7 from a/b"), Landed("Again (#7)")], False),
        ([Landed("Mine (#7)", merge=False), Landed("His, he says (#9)", merge=False)], False),
    ],
)
def test_who_is_in_a_group_for_certain(commits: list[Landed], *, known: bool) -> None:
    """A rebased commit says what its author likes: that it is of somebody who was let through."""
    assert known_for_certain(group_members(7, commits), commits) is known
