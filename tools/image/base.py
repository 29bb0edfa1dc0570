"""The base image: what the Dockerfile names, what is registered, and what may stand in for it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tools.image.engine import Engine

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = ROOT / "Dockerfile"
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
STAND_IN = "localhost/gateval-base:bookworm"
SOURCES = (Path("/etc/apt/sources.list.d/debian.sources"), Path("/etc/apt/sources.list"))
SLIM = """\
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
"""
"""What the slim images of Debian leave out, as their /etc/dpkg/dpkg.cfg.d/docker says it."""

BASE = re.compile(r"^ARG BASE=(\S+:\S+@(sha256:[0-9a-f]{64}))$", re.MULTILINE)
MACHINES = {"amd64", "arm64"}


def base_reference() -> str:
    """Return the base image as the Dockerfile names it, with tag and digest."""
    found = BASE.search(DOCKERFILE.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit("Dockerfile: the line `ARG BASE=name:tag@sha256:...` is missing.")
    return found[1]


def machines(index: str) -> set[str]:
    """Return the machines that an image index (OCI or Docker, as JSON) has Linux images for."""
    platforms = (one.get("platform", {}) for one in json.loads(index).get("manifests", ()))
    return {one["architecture"] for one in platforms if one.get("os") == "linux"}


def verify() -> int:
    """Ask the registry for the base by its digest; return 1 unless it has all our machines."""
    reference = base_reference()
    command = ["docker", "buildx", "imagetools", "inspect", "--raw", reference]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"The registry does not know {reference}:\n{done.stderr}", file=sys.stderr)
        return 1
    missing = MACHINES - machines(done.stdout)
    if missing:
        print(f"{reference} has no image for {', '.join(sorted(missing))}.", file=sys.stderr)
        return 1
    print(f"{reference} is registered, for {', '.join(sorted(MACHINES))}.")
    return 0


def stand_in(engine: Engine, folder: Path) -> str:
    """Make a Debian with Python that stands in for the base, once, and return its name."""
    if engine.call("image", "exists", STAND_IN).returncode == 0:
        return STAND_IN
    root = folder / "root"
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)]
    done = subprocess.run([*command, mirror()], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"debootstrap ended with {done.returncode}:\n{done.stdout[-2000:]}")
    (root / "etc/dpkg/dpkg.cfg.d/docker").write_text(SLIM)
    archive = folder / "root.tar"
    subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True)
    engine.must("import", str(archive), STAND_IN)
    archive.unlink()
    subprocess.run(["rm", "-rf", root], check=True)
    return STAND_IN


def mirror() -> str:
    """Return the address of the Debian mirror that this machine uses."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        found = re.search(r"^(?:URIs:|deb)\s+(?:\[.*\]\s+)?(\S+)", text, re.MULTILINE)
        if found is not None:
            return found[1]
    return "http://deb.debian.org/debian"


if __name__ == "__main__":
    if sys.argv[1:] != ["--verify"]:
        raise SystemExit("Usage: python -m tools.image.base --verify")
    raise SystemExit(verify())
