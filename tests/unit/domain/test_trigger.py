"""Who is in a merge group, by its ref and its commits."""

from __future__ import annotations

import pytest

from gateval.domain.trigger import group_members


@pytest.mark.parametrize(
    ("subjects", "members"),
    [
        ([], (7,)),
        (["Rebased, without a number"], (7,)),
        (["Merge pull request #7 from acme/b", "Merge pull request #5 from acme/a"], (5, 7)),
        (["Squashed (#7)", "Another one (#12)"], (7, 12)),
        (["A title that ends like one (#99) (#7)"], (7,)),
        (["See (#99) for more", "#98", "(#0)", "(#9999999999)"], (7,)),
        (["Fake\n(#6)"], (6, 7)),
    ],
)
def test_members(subjects: list[str], members: tuple[int, ...]) -> None:
    assert group_members(7, subjects) == members
