"""Which walls stand between candidates and the rest on this system, and what that means in words.

What is here is decided once per run by the gate's own circumstances. Nothing of it depends on what
a pull request says.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gateval.candidates.isolation.supervisor.landlock import SCOPES_SINCE, landlock_version
from gateval.candidates.isolation.wishes import IN_SMALL_NAMESPACES, NOBODY_ELSES, USERS, Wishes
from gateval.errors import UsageError

_NEEDED = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 7
"""CAP_CHOWN, CAP_KILL, CAP_SETGID and CAP_SETUID, which root in a container usually has."""


_SOURCE = Path(__file__).parents[3]
_TRIES = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from gateval.candidates.isolation.supervisor.namespaces import refusal; print(refusal())"
)


@dataclass(frozen=True)
class System:
    """The rights of the gate's process. `highest_user` is the largest user id that exists for it.

    `filters` says that system calls can be filtered: by the kernel, with libseccomp there.
    """

    linux: bool
    user: int
    capabilities: int
    highest_user: int
    landlock: int
    filters: bool


@dataclass(frozen=True)
class Walls:
    """What candidates of this run are held by.

    `users` is the range of their user ids, None where they have the gate's; `landlock` the version
    that the kernel offers, 0 for none; `supervised` whether a supervisor starts them; `filtered`
    whether their system calls are filtered. `apart` says that each has a PID namespace of its
    own: an extra, which is no wall and of which the results say nothing.
    """

    supervised: bool
    users: tuple[int, int] | None = None
    landlock: int = 0
    filtered: bool = False
    apart: bool = False

    @property
    def text(self) -> str:
        """One line that says what holds them, for the results."""
        if not self.supervised:
            return "weak: own process group only, same user as the gate"
        who = "own user per candidate" if self.users else "weaker: same user as the gate"
        fence = f"files fenced (Landlock {self.landlock})" if self.landlock else "files not fenced"
        calls = "system calls filtered" if self.filtered else "system calls not filtered"
        return f"{who}, {fence}, {calls}"

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
        if not self.filtered:
            lost.append("that candidates cannot get at rarely used parts of the kernel")
        if not lost:
            return ""
        wanted = [] if self.users else ["root"]
        wanted += [] if self.landlock else ["a kernel with Landlock"]
        wanted += [] if self.filtered else ["a kernel with seccomp and the library libseccomp2"]
        return (
            f"Isolation of candidates is weaker here: it is not promised {_listing(lost)}. "
            f"It takes {_listing(wanted)}; docs/security.md has the details."
        )


def build_walls(system: System, wishes: Wishes) -> Walls:
    """Return the strongest walls that this system allows.

    Raises `UsageError` where candidates would run as root: user 0 owns the system's files, so that
    without users of their own only Landlock keeps candidates from them.
    """
    if not system.linux:
        return Walls(supervised=False)
    if system.user == 0 and not wishes.own_users:
        raise UsageError(
            f"{USERS} is `none`, and the gate runs as root, so agents would be root too.",
            hint="Unset it, and candidates get users of their own; or run the gate as an ordinary "
            "user.",
        )
    users = None
    if system.user == 0 and system.capabilities & _NEEDED == _NEEDED:
        fits = system.highest_user >= NOBODY_ELSES[1]
        users = wishes.users or (NOBODY_ELSES if fits else IN_SMALL_NAMESPACES)
    if system.user == 0 and users is None and not system.landlock:
        raise UsageError(
            "The gate runs as root without the right to give agents users of their own, and "
            "without Landlock nothing would keep them from the system's files.",
            hint="Leave the container the capabilities CHOWN, KILL, SETGID and SETUID, or run the "
            "gate as an ordinary user.",
        )
    return Walls(supervised=True, users=users, landlock=system.landlock, filtered=system.filters)


def why_not_apart(walls: Walls) -> str:
    """Return why candidates cannot have PID namespaces here, in a clause; empty if they can.

    A process of its own tries it, and takes a moment.
    """
    if not walls.supervised or walls.users is None:
        return "it takes Linux, and root with the right to give agents users of their own"
    tried = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _TRIES, str(_SOURCE)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={},
        cwd="/",
        text=True,
        check=False,
    )
    return tried.stdout.strip() if tried.returncode == 0 else "nothing here can try it"


def look_around() -> System:
    """Return what holds for this process."""
    if sys.platform != "linux":
        return System(
            linux=False, user=os.getuid(), capabilities=0, highest_user=0, landlock=0, filters=False
        )
    from gateval.candidates.isolation.supervisor.kernel import knows_filters
    from gateval.candidates.isolation.supervisor.syscalls import there_is_a_library

    return System(
        linux=True,
        user=os.geteuid(),
        capabilities=_capabilities(),
        highest_user=_highest_user(),
        landlock=landlock_version(),
        filters=knows_filters() and there_is_a_library(),
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
