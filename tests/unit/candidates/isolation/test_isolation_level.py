"""Which walls are built, by system and wish, and what the output says of those that are missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateval.candidates.isolation.isolation_level import (
    IN_SMALL_NAMESPACES,
    NOBODY_ELSES,
    IsolationLevel,
    ResourceLimits,
    System,
    build_isolation,
    egress_text,
    look_around,
    ports_allowed,
    refuse_what_is_not_held,
)
from gateval.domain.manifests.gate_config import EgressPolicy, Policy
from gateval.errors import UsageError

ALL = (1 << 41) - 1
DOCKER = 0xA80425FB
"""The capabilities that Docker leaves to root in a container."""

ROOT = System(
    linux=True, user=0, capabilities=ALL, highest_user=2**32 - 1, landlock=7, filters=True
)
USER = System(
    linux=True, user=1000, capabilities=0, highest_user=2**32 - 1, landlock=7, filters=True
)

ALL_WALLS = IsolationLevel(supervised=True, users=NOBODY_ELSES, landlock=7, filtered=True)


def system(base: System, **changes: int) -> System:
    return System(**{**base.__dict__, **changes})


@pytest.mark.parametrize(
    ("around", "wishes", "isolation_level"),
    [
        (ROOT, ResourceLimits(), ALL_WALLS),
        (system(ROOT, capabilities=DOCKER), ResourceLimits(), ALL_WALLS),
        (
            system(ROOT, highest_user=65_535, landlock=0, filters=False),
            ResourceLimits(),
            IsolationLevel(supervised=True, users=IN_SMALL_NAMESPACES),
        ),
        (ROOT, ResourceLimits(users=(7000, 8000)), replace(ALL_WALLS, users=(7000, 8000))),
        (system(ROOT, capabilities=0), ResourceLimits(), replace(ALL_WALLS, users=None)),
        (USER, ResourceLimits(users=(7000, 8000)), replace(ALL_WALLS, users=None)),
        (USER, ResourceLimits(own_users=False), replace(ALL_WALLS, users=None)),
        (
            system(USER, landlock=0),
            ResourceLimits(),
            IsolationLevel(supervised=True, filtered=True),
        ),
        (system(USER, linux=False), ResourceLimits(), IsolationLevel(supervised=False)),
    ],
)
def test_the_strongest_walls_that_are_possible_are_built(
    around: System, wishes: ResourceLimits, isolation_level: IsolationLevel
) -> None:
    assert build_isolation(around, wishes) == isolation_level


@pytest.mark.parametrize(
    ("isolation_level", "lost"),
    [
        (ALL_WALLS, []),
        (replace(ALL_WALLS, landlock=0), ["the workspace", "takes a kernel with Landlock;"]),
        (replace(ALL_WALLS, users=None), ["kept apart by user", "takes root;"]),
        (replace(ALL_WALLS, users=None, landlock=5), ["cannot signal the gate"]),
        (
            replace(ALL_WALLS, filtered=False),
            ["rarely used parts of the kernel", "seccomp and the library libseccomp2;"],
        ),
        (
            IsolationLevel(supervised=True),
            ["gate's other files", "root, a kernel with Landlock and a kernel with seccomp"],
        ),
        (IsolationLevel(supervised=False), ["Linux is needed"]),
    ],
)
def test_what_is_missing_is_said_plainly(isolation_level: IsolationLevel, lost: list[str]) -> None:
    assert bool(isolation_level.not_promised) is bool(lost)
    for part in lost:
        assert part in isolation_level.not_promised
        assert "not promised" in isolation_level.not_promised
    assert ("weak" in isolation_level.text) is (isolation_level.users is None)


@pytest.mark.parametrize(
    ("around", "wishes", "why"),
    [
        (ROOT, ResourceLimits(own_users=False), "GATEVAL_CANDIDATE_USERS is `none`"),
        (system(ROOT, capabilities=0), ResourceLimits(own_users=False), "agents would be root too"),
        (system(ROOT, capabilities=0, landlock=0), ResourceLimits(), "without Landlock"),
    ],
)
def test_candidates_that_would_be_root_in_the_open_are_refused(
    around: System, wishes: ResourceLimits, why: str
) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        build_isolation(around, wishes)
    assert "ordinary user" in caught.value.hint


@pytest.mark.parametrize(
    ("egress", "ports", "listed"),
    [
        ("open", None, ""),
        ("gateway", [40_000], ""),
        ((443, 80, 443), [80, 443, 40_000], " and port 80, 443"),
    ],
)
def test_the_ports_that_are_allowed(egress: object, ports: list[int] | None, listed: str) -> None:
    policy = Policy.model_validate({"egress": egress})
    assert ports_allowed(policy.egress, 40_000) == ports
    said = egress_text(policy.egress)
    assert said == ("" if ports is None else f", TCP to the gateway{listed} only")


@pytest.mark.parametrize(
    ("isolation_level", "found"),
    [
        (ALL_WALLS, ""),
        (replace(ALL_WALLS, landlock=4), ""),
        (replace(ALL_WALLS, landlock=3), "Landlock 3 and a filter"),
        (replace(ALL_WALLS, landlock=0), "no Landlock and a filter"),
        (replace(ALL_WALLS, filtered=False), "Landlock 7 and no filter"),
        (IsolationLevel(supervised=False), "no Landlock and no filter"),
    ],
)
def test_a_limit_that_nothing_holds_is_refused(isolation_level: IsolationLevel, found: str) -> None:
    refuse_what_is_not_held(EgressPolicy.OPEN, isolation_level)
    for egress in (EgressPolicy.GATEWAY, (443,)):
        if not found:
            refuse_what_is_not_held(egress, isolation_level)
            continue
        with pytest.raises(UsageError, match=found) as caught:
            refuse_what_is_not_held(egress, isolation_level)
        assert "Linux 6.7" in caught.value.hint


def test_this_system_can_be_looked_at() -> None:
    here = look_around()
    assert here.highest_user > 0
    assert here.landlock >= 0
