"""Which parts of the file system candidates may see: everything but what is the gate's business.

Landlock only allows, so a place is hidden by allowing all that lies beside the way to it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

RUNNER_FILES = (
    "GITHUB_EVENT_PATH",
    "GITHUB_ENV",
    "GITHUB_OUTPUT",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
)
"""Variables that name files of the runner; the folders they lie in are hidden."""

RUNNER_FOLDER = "GATEVAL_ON_RUNNER"
"""Set by the action that runs beside the runner: the runner's own folder, `/` if it is unknown."""

RUNNER_FOLDERS = ("GITHUB_WORKSPACE", "RUNNER_TEMP", "HOME", RUNNER_FOLDER)

ALWAYS_HIDDEN = ("/github", "/run/user", "/var/run/docker.sock", "/run/containerd", "/run/podman")

DEVICES = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
)
"""Devices that may be read and written: none of them leads to anything that others have."""

TERMINALS = "/dev/pts"
"""Terminals that candidates open, and those of others. A user of their own cannot open the latter;
the gate's own user can, and would read what is typed there."""

SHARED = ("/tmp", "/var/tmp", "/dev/shm")

SHARED_MEMORY = ("/dev/shm",)

ENTRIES = 2_000
"""A folder on the way to a hidden place that holds more than this is hidden with all of it."""


def hidden_places(environ: Mapping[str, str], own: Iterable[Path]) -> frozenset[str]:
    """Return what candidates must not see, links resolved.

    `environ` is the gate's environment, `own` the gate's folders: workspace, results, scratch.
    """
    files = [os.path.dirname(environ[name]) for name in RUNNER_FILES if environ.get(name)]
    folders = [environ[name] for name in RUNNER_FOLDERS if environ.get(name)]
    wanted = [*files, *folders, *ALWAYS_HIDDEN, *(str(path) for path in own)]
    sockets = environ.get("DOCKER_HOST", "")
    if sockets.startswith("unix://"):
        wanted.append(sockets.removeprefix("unix://"))
    return frozenset(real for path in wanted if (real := os.path.realpath(path)) != "/")


def home_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the home that the gate is told to have, and the one that its user has."""
    homes = [Path(environ["HOME"])] if os.path.isabs(environ.get("HOME", "")) else []
    with contextlib.suppress(KeyError):
        homes.append(Path(pwd.getpwuid(os.geteuid()).pw_dir))
    return homes


def visible_places(hidden: frozenset[str], tools: frozenset[str]) -> list[str]:
    """Return folders and files that together are everything beside the hidden places.

    A place of tools that contains a hidden place is not made visible as a whole.
    """
    visible = _beside("/", hidden | {"/dev", *SHARED})
    return visible + sorted(tool for tool in tools if tool != "/" and not _holds(tool, hidden))


def usable_devices(*, own_users: bool) -> list[str]:
    """Return the devices that candidates may use."""
    return [*DEVICES, TERMINALS] if own_users else list(DEVICES)


def shared_places(hidden: frozenset[str], scratch: Path, *, own_users: bool) -> list[str]:
    """Return the folders for everybody's passing files, but for those that hold a hidden place.

    The scratch folder in one of them does no harm where candidates have users of their own. Where
    they do not, only shared memory is left: what lies in /tmp belongs to others.
    """
    others = hidden - {os.path.realpath(scratch)}
    wanted = SHARED if own_users else SHARED_MEMORY
    return [path for path in wanted if os.path.isdir(path) and not _holds(path, others)]


def passable(path: str) -> bool:
    """Whether users other than its owner may go to this place at all."""
    with contextlib.suppress(OSError):
        real = Path(os.path.realpath(path))
        return all(step.stat().st_mode & stat.S_IXOTH for step in (real, *real.parents))
    return False


def passed_over(name: str, path: str) -> tuple[str, str] | None:
    """Return the program of this name that comes first on PATH, where other users cannot go to it,
    and the one that they find in its place ("" if there is none); None where they find the same.
    """
    spots = (f"{folder}/{name}" for folder in path.split(os.pathsep) if os.path.isabs(folder))
    found = [spot for spot in spots if os.path.isfile(spot) and os.access(spot, os.X_OK)]
    taken = next((one for one in found if passable(os.path.dirname(one)) and passable(one)), "")
    return (found[0], taken) if found and found[0] != taken else None


def _holds(folder: str, hidden: frozenset[str]) -> bool:
    inside = folder.rstrip("/") + "/"
    return any(path == folder or path.startswith(inside) for path in hidden)


def _beside(folder: str, hidden: frozenset[str]) -> list[str]:
    if folder in hidden:
        return []
    if not _holds(folder, hidden):
        return [folder]
    found: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= ENTRIES:
                return []
            if not entry.is_symlink():
                found += _beside(entry.path, hidden)
    return found
