"""Container engines that the gate's user may talk to: who may start a container is as good as root.

Landlock does not keep a program from connecting to a socket in the file system, so only a user of
its own keeps a candidate from one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from gateval.candidates.isolation.walls import Walls
from gateval.errors import EvaluationError

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
    """Return the sockets of container engines that this process may open, links resolved.

    `user` is the user id whose runtime folder is looked into; `environ` names others.
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


def refusal(walls: Walls, engines: tuple[str, ...]) -> EvaluationError | None:
    """Return why candidates must not be started beside the keys of a runner.

    None where they may: on Linux with users of their own; or with the gate's user, a fence around
    files and no container engine in reach.
    """
    if not walls.supervised:
        return EvaluationError(
            "Agents cannot be held on this system, so the action measures nothing on it.",
            hint="Run the job on Linux. Here, the command line has `validate`, `plan` and `check`, "
            "and the action `step: plan` and `step: publish`.",
        )
    if walls.users:
        return None
    if engines:
        return EvaluationError(
            "The agents would run as the gate's own user, and that user may open the container "
            f"engine at {engines[0]}, which makes them root.",
            hint=f"{_OWN_USERS}, leave the engine's group, or use the action's image.",
        )
    if not walls.landlock:
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
