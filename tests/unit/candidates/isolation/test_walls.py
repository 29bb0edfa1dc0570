"""Which walls are built, by system and wish, and what the output says of those that are missing."""

from __future__ import annotations

import pytest

from gateval.candidates.isolation.walls import System, Walls, build_walls, look_around
from gateval.candidates.isolation.wishes import IN_SMALL_NAMESPACES, NOBODY_ELSES, Wishes

ALL = (1 << 41) - 1
DOCKER = 0xA80425FB
"""The capabilities that Docker leaves to root in a container."""

ROOT = System(linux=True, user=0, capabilities=ALL, highest_user=2**32 - 1, landlock=7)
USER = System(linux=True, user=1000, capabilities=0, highest_user=2**32 - 1, landlock=7)


def system(base: System, **changes: int) -> System:
    return System(**{**base.__dict__, **changes})


@pytest.mark.parametrize(
    ("around", "wishes", "walls"),
    [
        (ROOT, Wishes(), Walls(supervised=True, users=NOBODY_ELSES, landlock=7)),
        (
            system(ROOT, capabilities=DOCKER),
            Wishes(),
            Walls(supervised=True, users=NOBODY_ELSES, landlock=7),
        ),
        (
            system(ROOT, highest_user=65_535, landlock=0),
            Wishes(),
            Walls(supervised=True, users=IN_SMALL_NAMESPACES),
        ),
        (ROOT, Wishes(users=(7000, 8000)), Walls(supervised=True, users=(7000, 8000), landlock=7)),
        (ROOT, Wishes(own_users=False), Walls(supervised=True, landlock=7, declined=True)),
        (system(ROOT, capabilities=0), Wishes(), Walls(supervised=True, landlock=7)),
        (USER, Wishes(users=(7000, 8000)), Walls(supervised=True, landlock=7)),
        (system(USER, linux=False), Wishes(), Walls(supervised=False)),
    ],
)
def test_the_strongest_walls_that_are_possible_are_built(
    around: System, wishes: Wishes, walls: Walls
) -> None:
    assert build_walls(around, wishes) == walls


@pytest.mark.parametrize(
    ("walls", "lost"),
    [
        (Walls(supervised=True, users=NOBODY_ELSES, landlock=7), []),
        (Walls(supervised=True, users=NOBODY_ELSES), ["the workspace", "a kernel with Landlock"]),
        (Walls(supervised=True, landlock=7), ["kept apart by user", "takes root"]),
        (Walls(supervised=True, landlock=5), ["cannot signal the gate"]),
        (Walls(supervised=True), ["gate's other files", "root and a kernel with Landlock"]),
        (Walls(supervised=False), ["Linux is needed"]),
    ],
)
def test_what_is_missing_is_said_plainly(walls: Walls, lost: list[str]) -> None:
    assert bool(walls.not_promised) is bool(lost)
    for part in lost:
        assert part in walls.not_promised
        assert "not promised" in walls.not_promised
    assert ("weak" in walls.text) is (walls.users is None)


def test_who_declines_own_users_is_told_so() -> None:
    declined = build_walls(ROOT, Wishes(own_users=False))
    assert "It takes GATEVAL_CANDIDATE_USERS other than `none`" in declined.not_promised
    assert "It takes root" in build_walls(USER, Wishes()).not_promised


def test_this_system_can_be_looked_at() -> None:
    here = look_around()
    assert here.highest_user > 0
    assert here.landlock >= 0
