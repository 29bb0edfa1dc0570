"""What builds and runs images here: Docker, or podman as root on a machine without an engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CONTAINERS_CONF = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""
STORAGE_CONF = """\
[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


class Engine(NamedTuple):
    """A program that speaks Docker's command line, and the environment it needs."""

    program: str
    environ: Mapping[str, str]
    build_options: tuple[str, ...]

    @property
    def needs_stand_in(self) -> bool:
        """Whether the real base image cannot be pulled, so that another has to stand in."""
        return self.program == "podman"

    def call(self, *arguments: str, timeout: float = 900) -> subprocess.CompletedProcess[str]:
        """Run one command of the engine and return how it ended, output captured."""
        return subprocess.run(
            [self.program, *arguments],
            env=dict(self.environ),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def must(self, *arguments: str) -> str:
        """Run one command that has to succeed and return its output."""
        done = self.call(*arguments)
        if done.returncode:
            command = " ".join([self.program, *arguments])
            raise SystemExit(f"{command}\nended with {done.returncode}:\n{tail(done)}")
        return done.stdout

    def config(self, image: str) -> dict[str, object]:
        """Return how an image is started: `Entrypoint`, `Cmd`, `User`, `WorkingDir`, ..."""
        found: list[dict[str, dict[str, object]]]
        found = json.loads(self.must("image", "inspect", image))
        return found[0]["Config"]

    def size(self, image: str) -> int:
        """The size of all layers of an image, in bytes."""
        return int(self.must("image", "inspect", "--format={{.Size}}", image))

    def build(self, image: str, file: Path, context: Path, arguments: Sequence[str]) -> None:
        """Build an image; `arguments` are `NAME=value` build arguments."""
        given = [part for argument in arguments for part in ("--build-arg", argument)]
        where = ["--file", str(file), "--tag", image, *given, str(context)]
        self.must("build", *self.build_options, *where)


def tail(done: subprocess.CompletedProcess[str], lines: int = 40) -> str:
    """Return the last lines of what a command printed."""
    return "\n".join((done.stdout + done.stderr).splitlines()[-lines:])


def find_engine(folder: Path) -> Engine | str:
    """Return the engine of this machine, or the reason why there is none.

    `folder` is where podman keeps its images and its configuration, apart from the machine's own.
    """
    if shutil.which("docker") and _answers("docker", "info"):
        return Engine("docker", dict(os.environ), ("--pull",))
    missing = [name for name in ("podman", "runc", "debootstrap") if not shutil.which(name)]
    if missing:
        return (
            f"no Docker engine answers, and without one {', '.join(missing)} would be needed "
            "(apt-get install podman runc debootstrap)."
        )
    if os.geteuid() != 0:
        return (
            "no Docker engine answers, and a stand-in for its base image can only be made by root."
        )
    return _podman(folder)


def _answers(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _podman(folder: Path) -> Engine:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "containers.conf").write_text(CONTAINERS_CONF)
    (folder / "storage.conf").write_text(STORAGE_CONF.format(folder=folder))
    environ = os.environ | {
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
    }
    options = ["--pull=never", "--network=host", "--format=docker", "--layers"]
    if CERTIFICATES.exists():  # a network may have a certificate authority of its own
        options.append(f"--volume={CERTIFICATES}:{CERTIFICATES}:ro")
    return Engine("podman", environ, tuple(options))
