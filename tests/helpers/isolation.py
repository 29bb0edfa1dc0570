"""Isolation for tests: a Python that every user can run, and walls as the gate builds them."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gateval.app.run.isolate import isolation
from gateval.candidates.isolation.places import passable
from gateval.candidates.isolation.walls import build_walls, look_around
from gateval.candidates.isolation.wishes import Wishes
from gateval.settings import read_settings
from tests.helpers.candidates import World


def open_python() -> str:
    """The path of a Python that every user of this machine can run. The standard library only."""
    for path in (sys.executable, *(f"{folder}/python3" for folder in os.defpath.split(":"))):
        if os.access(path, os.X_OK) and passable(path):
            return os.path.realpath(path)
    raise AssertionError("There is no Python here that other users could run; install python3.")


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """A fresh folder that every user can go to, unlike pytest's, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="gateval-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def isolated_world(wishes: Wishes, *hidden: Path) -> Iterator[World]:
    """A world whose candidates are started behind the walls that this system allows."""
    walls = build_walls(look_around(), wishes)
    settings = replace(read_settings({}), environ=dict(os.environ), wishes=wishes)
    with open_folder() as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        with isolation(walls, settings, scratch, hidden) as starter:
            yield World(folder, starter=starter)
