"""What of a file system stays visible when some places in it are hidden."""

from __future__ import annotations

import os
from pathlib import Path

from gateval.candidates.isolation.visible_paths import (
    hidden_places,
    passable,
    shared_places,
    tool_places,
    visible_places,
)


def below(root: Path, places: list[str]) -> set[str]:
    return {os.path.relpath(place, root) for place in places if place.startswith(f"{root}/")}


def test_all_beside_the_way_to_a_hidden_place_is_visible(tmp_path: Path) -> None:
    base = Path("/opt") if os.access("/opt", os.W_OK) else tmp_path
    root = base / f"places-{os.getpid()}"
    for name in ("work/repo/src", "work/other", "tools/bin", "work/repo/.venv/bin"):
        (root / name).mkdir(parents=True)
    (root / "file").write_text("x")
    (root / "link").symlink_to(root / "work")
    try:
        hidden = hidden_places({"PATH": "x"}, [root / "work/repo"])
        (root / "work/repo/.venv/pyvenv.cfg").write_text("")
        environ = {"PATH": f"{root}/work/repo/.venv/bin:relative:{root}/work"}
        tools = tool_places(environ, [], homes=[], ours=[])
        seen = below(root, visible_places(hidden, tools))
        assert seen == {
            "work/other",
            "tools",
            "file",
            "work/repo/.venv/bin",
            "work/repo/.venv/pyvenv.cfg",
        }
    finally:
        for path in sorted(root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        root.rmdir()


def test_the_interpreter_of_an_environment_is_visible_with_its_library(tmp_path: Path) -> None:
    python, venv = tmp_path / "python", tmp_path / "project/.venv"
    (python / "bin").mkdir(parents=True)
    (python / "bin/python3.12").write_text("#!/bin/sh\n")
    (python / "bin/python3.12").chmod(0o755)
    (python / "lib/python3.12").mkdir(parents=True)
    (python / "lib/python3.12/os.py").write_text("")
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("")
    (venv / "bin/python").symlink_to(python / "bin/python3.12")
    tools = tool_places({"PATH": f"{venv}/bin"}, [], homes=[], ours=[])
    assert {str(python / "lib"), str(python / "bin"), str(venv / "pyvenv.cfg")} <= tools
    assert str(tmp_path) not in tools


def test_what_belongs_to_the_runner_is_hidden(tmp_path: Path) -> None:
    environ = {
        "GITHUB_WORKSPACE": f"{tmp_path}/w",
        "GITHUB_OUTPUT": f"{tmp_path}/commands/output_1",
        "GITHUB_EVENT_PATH": f"{tmp_path}/workflow/event.json",
        "HOME": f"{tmp_path}/home",
        "GATEVAL_ON_RUNNER": f"{tmp_path}/runner",
        "DOCKER_HOST": f"unix://{tmp_path}/engine.sock",
    }
    hidden = hidden_places(environ, [])
    real = os.path.realpath(tmp_path)
    names = ("w", "commands", "workflow", "home", "engine.sock", "runner")
    assert {f"{real}/{name}" for name in names} <= hidden
    assert os.path.realpath("/var/run/docker.sock") in hidden
    assert "/" not in hidden_places({"HOME": "/"}, [])


def test_shared_folders_hold_nothing_hidden(tmp_path: Path) -> None:
    scratch = Path("/tmp/scratch")
    assert "/tmp" in shared_places(frozenset({"/tmp/scratch"}), scratch, own_users=True)
    hidden = frozenset({"/tmp/scratch", "/tmp/workspace"})
    assert "/tmp" not in shared_places(hidden, scratch, own_users=True)
    assert shared_places(frozenset(), scratch, own_users=False) in ([], ["/dev/shm"])


def test_a_private_folder_on_the_way_is_no_thoroughfare(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    assert passable("/usr")
    assert not passable(str(closed / "inner"))
    assert not passable(str(closed / "missing"))
