"""Which walls stand between candidates and the rest on this system, and what that means in words.

What is here is decided once per run by the gate's own circumstances. Nothing of it depends on what
a pull request says.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from gateval.candidates.isolation.wishes import IN_SMALL_NAMESPACES, NOBODY_ELSES, USERS, Wishes

SCOPES_SINCE = 6
"""The version of Landlock that also forbids signals to others (Linux 6.12)."""

_NEEDED = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 7
"""CAP_CHOWN, CAP_KILL, CAP_SETGID and CAP_SETUID, which root in a container usually has."""


@dataclass(frozen=True)
class System:
    """What the gate's process may do. `highest_user` is the largest user id that exists for it."""

    linux: bool
    user: int
    capabilities: int
    highest_user: int
    landlock: int


@dataclass(frozen=True)
class Walls:
    """What candidates of this run are held by.

    `users` is the range of their user ids, None where they have the gate's; `landlock` the version
    that the kernel offers, 0 for none; `supervised` whether a supervisor starts them; `declined`
    that own users are possible here and not wished for.
    """

    supervised: bool
    users: tuple[int, int] | None = None
    landlock: int = 0
    declined: bool = False

    @property
    def text(self) -> str:
        """One line that says what holds them, for the results."""
        if not self.supervised:
            return "weak: own process group only, same user as the gate"
        who = "own user per candidate" if self.users else "weaker: same user as the gate"
        fence = f"files fenced (Landlock {self.landlock})" if self.landlock else "files not fenced"
        return f"{who}, {fence}"

    @property
    def not_promised(self) -> str:
        """A sentence on what does not hold here and would elsewhere; empty if all holds."""
        if not self.supervised:
            return (
                "Isolation of candidates is weak on this system: it is not promised that they "
                "cannot read the gate's memory and files, that their processes are all ended, or "
                "that they keep to limits. Linux is needed for that."
            )
        lost = []
        if not self.users:
            lost += ["that candidates are kept apart by user", "that leftovers in /dev/shm go"]
            if self.landlock < SCOPES_SINCE:
                lost.append("that candidates cannot signal the gate")
        if not self.landlock:
            lost.append("that files everybody may read, the workspace among them, are hidden")
            if not self.users:
                lost.append("that the gate's other files cannot be read or changed")
        if not lost:
            return ""
        users = f"{USERS} other than `none`" if self.declined else "root"
        wanted = [] if self.users else [users]
        wanted += [] if self.landlock else ["a kernel with Landlock"]
        return (
            f"Isolation of candidates is weaker here: it is not promised {_listing(lost)}. "
            f"It takes {_listing(wanted)}; docs/security.md has the details."
        )


def build_walls(system: System, wishes: Wishes) -> Walls:
    """Return the strongest walls that this system allows and that are wished for."""
    if not system.linux:
        return Walls(supervised=False)
    users = None
    able = system.user == 0 and system.capabilities & _NEEDED == _NEEDED
    if able and wishes.own_users:
        fits = system.highest_user >= NOBODY_ELSES[1]
        users = wishes.users or (NOBODY_ELSES if fits else IN_SMALL_NAMESPACES)
    declined = able and not wishes.own_users
    return Walls(supervised=True, users=users, landlock=system.landlock, declined=declined)


def look_around() -> System:
    """Return what holds for this process."""
    if sys.platform != "linux":
        return System(linux=False, user=os.getuid(), capabilities=0, highest_user=0, landlock=0)
    from gateval.candidates.isolation.supervisor.kernel import landlock_version

    return System(
        linux=True,
        user=os.geteuid(),
        capabilities=_capabilities(),
        highest_user=_highest_user(),
        landlock=landlock_version(),
    )


def _capabilities() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _highest_user() -> int:
    with contextlib.suppress(OSError):
        rows = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
        return max((int(first) + int(count) - 1 for first, _, count in rows), default=0)
    return 0


def _listing(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
