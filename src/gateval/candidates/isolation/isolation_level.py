"""Which walls stand between candidates and the rest, what asks for them, and what that means in
words.

What is here is decided once per run by the gate's own circumstances. Nothing of it depends on what
a pull request says.

Landlock holds TCP to ports, of any address; the filter of system calls refuses the sockets and the
calls that Landlock does not see. UDP gets out all the same (docs/security.md).

Landlock does not keep a program from connecting to a socket in the file system, so only a user of
its own keeps a candidate from one.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateval.candidates.isolation.supervisor.kernel import (
    PORTS_SINCE,
    SCOPES_SINCE,
    landlock_version,
)
from gateval.domain.manifests.gate_config import Egress, EgressPolicy
from gateval.errors import EvaluationError, UsageError

USERS = "GATEVAL_CANDIDATE_USERS"
MEMORY = "GATEVAL_CANDIDATE_MEMORY_MIB"
DISK = "GATEVAL_CANDIDATE_DISK_MIB"
FILES = "GATEVAL_CANDIDATE_FILES"
PROCESSES = "GATEVAL_CANDIDATE_PROCESSES"

NOBODY_ELSES = (1_900_000_000, 1_916_777_215)
"""Ids that systemd's table of users calls unused (systemd.io/UIDS-GIDS)."""

IN_SMALL_NAMESPACES = (50_000, 59_999)
"""For containers whose user namespace maps no more than 65,536 ids."""

_LARGEST_USER = 2**31 - 2
_SMALLEST_RANGE = 100


@dataclass(frozen=True)
class ResourceLimits:
    """Memory and disk in MiB, open files and processes (threads count) of one candidate.

    `users` is the range of ids to choose from, None for one that fits this system;
    `own_users` False says that candidates have none, which root may not wish.
    """

    users: tuple[int, int] | None = None
    own_users: bool = True
    memory_mib: int = 4096
    disk_mib: int = 4096
    files: int = 4096
    processes: int = 1024


def read_limits(environ: Mapping[str, str]) -> ResourceLimits:
    """Read them. Raises `UsageError` that names the variable at fault."""
    plain = ResourceLimits()
    users = environ.get(USERS, "").strip()
    return ResourceLimits(
        users=None if users in ("", "none") else _range(users),
        own_users=users != "none",
        memory_mib=_number(environ, MEMORY, plain.memory_mib, least=64),
        disk_mib=_number(environ, DISK, plain.disk_mib, least=1),
        files=_number(environ, FILES, plain.files, least=32),
        processes=_number(environ, PROCESSES, plain.processes, least=8),
    )


def _number(environ: Mapping[str, str], name: str, plain: int, *, least: int) -> int:
    text = environ.get(name, "").strip()
    if not text:
        return plain
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
        raise UsageError(
            f"{name} is {text!r}, which is no whole number of at least {least}.",
            hint=f"Unset it for the default of {plain}.",
        )
    return int(text)


def _range(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,10})-([0-9]{1,10})", text)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (first > 0 and last <= _LARGEST_USER and last - first >= _SMALLEST_RANGE):
        raise UsageError(
            f"{USERS} is {text!r}, which is no range of user ids for agents.",
            hint=f"Write FIRST-LAST, at least {_SMALLEST_RANGE} ids that nobody has and never 0, "
            "or leave it out.",
        )
    return first, last


_NEEDED = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 7
"""CAP_CHOWN, CAP_KILL, CAP_SETGID and CAP_SETUID, which root in a container usually has."""


_SOURCE = Path(__file__).parents[3]
_TRIES = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from gateval.candidates.isolation.supervisor.confine import refusal; print(refusal())"
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
class IsolationLevel:
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
        ruleset = (
            f"files fenced (Landlock {self.landlock})" if self.landlock else "files not fenced"
        )
        calls = "system calls filtered" if self.filtered else "system calls not filtered"
        return f"{who}, {ruleset}, {calls}"

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


def build_isolation(system: System, limits: ResourceLimits) -> IsolationLevel:
    """Return the strongest walls that this system allows.

    Raises `UsageError` where candidates would run as root: user 0 owns the system's files, so that
    without users of their own only Landlock keeps candidates from them.
    """
    if not system.linux:
        return IsolationLevel(supervised=False)
    if system.user == 0 and not limits.own_users:
        raise UsageError(
            f"{USERS} is `none`, and the gate runs as root, so agents would be root too.",
            hint="Unset it, and candidates get users of their own; or run the gate as an ordinary "
            "user.",
        )
    users = None
    if system.user == 0 and system.capabilities & _NEEDED == _NEEDED:
        fits = system.highest_user >= NOBODY_ELSES[1]
        users = limits.users or (NOBODY_ELSES if fits else IN_SMALL_NAMESPACES)
    if system.user == 0 and users is None and not system.landlock:
        raise UsageError(
            "The gate runs as root without the right to give agents users of their own, and "
            "without Landlock nothing would keep them from the system's files.",
            hint="Leave the container the capabilities CHOWN, KILL, SETGID and SETUID, or run the "
            "gate as an ordinary user.",
        )
    return IsolationLevel(
        supervised=True, users=users, landlock=system.landlock, filtered=system.filters
    )


def why_not_apart(isolation_level: IsolationLevel) -> str:
    """Return why candidates cannot have PID namespaces here, in a clause; empty if they can. A
    process of its own tries it, and takes a moment.
    """
    if not isolation_level.supervised or isolation_level.users is None:
        return "it takes Linux, and root with the right to give agents users of their own"
    argv = [sys.executable, "-I", "-S", "-c", _TRIES, str(_SOURCE)]
    tried = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, env={}, cwd="/", text=True, check=False
    )
    return tried.stdout.strip() if tried.returncode == 0 else "nothing here can try it"


def look_around() -> System:
    """Return what holds for this process."""
    if sys.platform != "linux":
        return System(False, os.getuid(), 0, 0, 0, filters=False)  # noqa: FBT003 - no Linux
    from gateval.candidates.isolation.supervisor.kernel import filter_library, knows_filters

    status, rows = Path("/proc/self/status").read_text(), list[str]()
    capabilities = status.partition("\nCapEff:")[2].split()[:1] or ["0"]
    with contextlib.suppress(OSError):
        rows = Path("/proc/self/uid_map").read_text().splitlines()
    ids = (map(int, row.split()) for row in rows)
    return System(
        linux=True,
        user=os.geteuid(),
        capabilities=int(capabilities[0], 16),
        highest_user=max((first + count - 1 for first, _, count in ids), default=0),
        landlock=landlock_version(),
        filters=knows_filters() and filter_library() is not None,
    )


def _listing(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def ports_allowed(egress: Egress, gateway: int) -> list[int] | None:
    """Return the ports that TCP may connect to, None for all; `gateway` is the gateway's port."""
    if egress is EgressPolicy.OPEN:
        return None
    return sorted({gateway, *(egress if isinstance(egress, tuple) else ())})


def ports_to_listen_on(
    listed: Iterable[int], isolation_level: IsolationLevel, *, upstreams: Collection[int]
) -> list[int] | None:
    """Return the ports that candidates may listen on beside their own, None for all.

    They are held to that where a provider answers on this machine, whose port one could take when
    it is down, and where the kernel can. Any port from which the kernel chooses can be had by
    asking for one often enough, so all of those may be asked for by number, as programs do that
    look for a free one; but not the `upstreams`' own.
    """
    if not upstreams or isolation_level.landlock < PORTS_SINCE:
        return None
    chosen_from = range(0)
    with contextlib.suppress(OSError, ValueError):
        first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
        chosen_from = range(first, last + 1)
    return sorted({*listed, *(port for port in chosen_from if port not in upstreams)})


def egress_text(egress: Egress) -> str:
    """Return what holds of it in a few words for the results; empty if all is open."""
    if egress is EgressPolicy.OPEN:
        return ""
    ports = sorted(set(egress)) if isinstance(egress, tuple) else []
    listed = f" and port {', '.join(map(str, ports))}" if ports else ""
    return f", TCP to the gateway{listed} only"


def refuse_what_is_not_held(egress: Egress, isolation_level: IsolationLevel) -> None:
    """Raise `UsageError` where the policy asks for a limit that nothing here would hold."""
    if egress is EgressPolicy.OPEN or (
        isolation_level.landlock >= PORTS_SINCE and isolation_level.filtered
    ):
        return
    found = f"Landlock {isolation_level.landlock}" if isolation_level.landlock else "no Landlock"
    calls = "a filter of system calls" if isolation_level.filtered else "no filter of system calls"
    raise UsageError(
        "policy.egress limits what agents may connect to, and nothing here can hold them to "
        f"it: there is {found} and {calls}.",
        hint=f"It takes Landlock {PORTS_SINCE} (Linux 6.7), seccomp and the library libseccomp2. "
        "Run the gate where they are, or set policy.egress to `open`.",
    )


_SYSTEM = (
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/buildkit/buildkitd.sock",
    "/var/run/docker.sock",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
)
_OF_A_USER = ("docker.sock", "podman/podman.sock", "containerd-rootless/api.sock")
_IN_A_HOME = (
    ".docker/run/docker.sock",
    ".docker/desktop/docker.sock",
    ".colima/default/docker.sock",
)
_VARIABLES = ("DOCKER_HOST", "CONTAINER_HOST")


def open_engines(environ: Mapping[str, str], user: int) -> tuple[str, ...]:
    """Return the sockets of container engines that this process may open, links resolved. `user` is
    the user id whose runtime folder is looked into; `environ` names others.
    """
    runtime = {f"/run/user/{user}", environ.get("XDG_RUNTIME_DIR", "")}
    named = (environ.get(name, "") for name in _VARIABLES)
    places = [
        *_SYSTEM,
        *(f"{folder}/{name}" for folder in sorted(runtime) if folder for name in _OF_A_USER),
        *(f"{home}/{name}" for name in _IN_A_HOME if (home := environ.get("HOME", ""))),
        *(text.removeprefix("unix://") for text in named if text.startswith("unix://")),
    ]
    return tuple(dict.fromkeys(os.path.realpath(place) for place in places if _opens(place)))


def refusal(isolation_level: IsolationLevel, engines: tuple[str, ...]) -> EvaluationError | None:
    """Return why candidates must not be started beside the keys of a runner.

    None where they may: on Linux with users of their own; or with the gate's user, a fence around
    files and no container engine in reach.
    """
    if not isolation_level.supervised:
        return EvaluationError(
            "Agents cannot be held on this system, so the action measures nothing on it.",
            hint="Run the job on Linux. Here, the command line has `validate`, `plan` and `check`, "
            "and the action `step: plan` and `step: publish`.",
        )
    if isolation_level.users:
        return None
    if engines:
        return EvaluationError(
            "The agents would run as the gate's own user, and that user may open the container "
            f"engine at {engines[0]}, which makes them root.",
            hint=f"{_OWN_USERS}, leave the engine's group, or use the action's image.",
        )
    if not isolation_level.landlock:
        return EvaluationError(
            "The agents would run as the gate's own user with no fence around files, so they could "
            "read the keys of the job.",
            hint=f"{_OWN_USERS}, use Linux 5.13 or later, or use the action's image.",
        )
    return None


_OWN_USERS = "Let the runner's user use `sudo` without a password, so that candidates get their own"


def _opens(place: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(place).stat().st_mode) and os.access(place, os.W_OK)
    except (OSError, ValueError):
        return False
