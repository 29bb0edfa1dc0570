"""Which container engines are found, and when candidates are not started for their sake."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import (
    NOBODY_ELSES,
    IsolationLevel,
    open_engines,
    refusal,
)

OWN = IsolationLevel(supervised=True, users=NOBODY_ELSES)
FENCED = IsolationLevel(supervised=True, landlock=7)
BARE = IsolationLevel(supervised=True)
OTHER = IsolationLevel(supervised=False)
ENGINE = ("/run/docker.sock",)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "podman/podman.sock"
    place.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(place))  # absolute ones may be too long
        yield place


@pytest.mark.parametrize("name", ["DOCKER_HOST", "CONTAINER_HOST"])
def test_a_socket_that_a_variable_names_is_found(engine: Path, name: str) -> None:
    assert open_engines({name: f"unix://{engine}"}, 4_000_000) == (str(engine),)


def test_a_users_own_engine_is_found_once(engine: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(engine)
    environ = {"XDG_RUNTIME_DIR": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/link"}
    assert open_engines(environ, 4_000_000) == (str(engine),)


def test_what_is_no_socket_or_not_there_is_no_engine(tmp_path: Path) -> None:
    (tmp_path / "docker.sock").write_text("")
    environ = {
        "XDG_RUNTIME_DIR": str(tmp_path),
        "DOCKER_HOST": "unix:///absent/docker.sock",
        "CONTAINER_HOST": "tcp://127.0.0.1:2375",
        "HOME": "/absent\0",
    }
    assert open_engines(environ, 4_000_000) == ()


@pytest.mark.parametrize(
    ("isolation_level", "engines", "words"),
    [
        (OWN, (), None),
        (OWN, ENGINE, None),
        (FENCED, (), None),
        (FENCED, ENGINE, "container engine at /run/docker.sock, which makes them root"),
        (BARE, ENGINE, "container engine at /run/docker.sock, which makes them root"),
        (BARE, (), "could read the keys of the job"),
        (OTHER, (), "cannot be held on this system"),
        (OTHER, ENGINE, "cannot be held on this system"),
    ],
)
def test_candidates_are_refused_where_they_would_be_root_or_read_keys(
    isolation_level: IsolationLevel, engines: tuple[str, ...], words: str | None
) -> None:
    refused = refusal(isolation_level, engines)
    assert (refused is None) == (words is None)
    if refused and words:
        assert words in refused.message
        assert refused.hint
