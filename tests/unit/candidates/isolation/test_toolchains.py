"""What of a home folder stays visible: programs on PATH and known toolchains, never what is beside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateval.candidates.isolation.visible_paths import tool_places

HOME = """
.cargo/bin/rustup*  .cargo/bin/cargo*  .cargo/credentials.toml  .cargo/registry/index
.rustup/toolchains/stable/bin/cargo*  .rustup/toolchains/stable/lib/rustlib/x  .rustup/settings.toml
.rustup/update-hashes/x
.docker/bin/docker*  .docker/config.json
.pyenv/shims/python*  .pyenv/libexec/pyenv*  .pyenv/versions/3/bin/python3*  .pyenv/.git/config
.pyenv/versions/3/lib/python3.11/os.py  .pyenv/version  .pyenv/secrets
.nvm/versions/node/v20/bin/node*  .nvm/versions/node/v20/lib/node_modules/npm/x  .nvm/alias/default
.local/bin/uv*  .local/share/keyrings/login  .local/share/uv/tools/ruff/bin/ruff*
.local/share/uv/tools/ruff/pyvenv.cfg  .local/share/uv/credentials  .local/lib/python3.11/site-packages/x
.local/share/claude/versions/1.0*  .local/share/claude/token
bin/own*  bin/notes.txt  .netrc
.sdkman/candidates/java/17/bin/java*  .sdkman/candidates/java/17/lib/modules
.sdkman/candidates/java/17/release  .sdkman/etc/config
.dotnet/dotnet*  .dotnet/shared/x/y  .dotnet/host/x  .dotnet/corefx/cryptography/key
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in HOME.split():
        path = home / name.rstrip("*")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        path.chmod(0o755 if name.endswith("*") else 0o644)
    (home / ".local/bin/ruff").symlink_to("../share/uv/tools/ruff/bin/ruff")
    (home / ".local/bin/claude").symlink_to("../share/claude/versions/1.0")
    base = home / ".pyenv/versions/3/bin/python3"
    (home / ".local/share/uv/tools/ruff/bin/python").symlink_to(base)
    return home


def seen(home: Path, *path: str, ours: tuple[str, ...] = ()) -> set[str]:
    variables = {"PATH": ":".join(f"{home}/{one}" for one in path)}
    found = tool_places(variables, [], homes=[str(home)], ours=ours)
    return {os.path.relpath(place, home) for place in found}


def reads(places: set[str], name: str) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)


EVERYTHING = (
    ".cargo/bin", ".docker/bin", ".pyenv/shims", ".nvm/versions/node/v20/bin", ".local/bin", "bin",
    ".sdkman/candidates/java/17/bin", ".dotnet", "",
)  # fmt: skip


def test_programs_and_toolchains_are_visible(home: Path) -> None:
    found = seen(home, *EVERYTHING)
    for name in HOME.split():
        if name.endswith("*"):
            assert reads(found, name.rstrip("*")), name
    for name in (
        ".rustup/toolchains/stable/lib/rustlib/x",
        ".rustup/settings.toml",
        ".pyenv/versions/3/lib/python3.11/os.py",
        ".nvm/versions/node/v20/lib/node_modules/npm/x",
        ".local/share/uv/tools/ruff/pyvenv.cfg",
        ".sdkman/candidates/java/17/lib/modules",
        ".dotnet/shared/x/y",
    ):
        assert reads(found, name), name


def test_what_lies_beside_them_is_not(home: Path) -> None:
    found = seen(home, *EVERYTHING)
    for name in (
        ".cargo/credentials.toml",
        ".cargo/registry/index",
        ".docker/config.json",
        ".pyenv/.git/config",
        ".pyenv/secrets",
        ".local/share/keyrings/login",
        ".local/share/uv/credentials",
        ".local/share/claude/token",
        ".sdkman/etc/config",
        ".dotnet/corefx/cryptography/key",
        "bin/notes.txt",
        ".netrc",
    ):
        assert not reads(found, name), name
    assert not [place for place in found if "/" not in place], "a folder directly in HOME"


def test_only_what_is_on_path_counts(home: Path) -> None:
    assert seen(home) == {".rustup/toolchains", ".rustup/settings.toml"}
    (home / ".cargo/bin/rustup").unlink()
    assert seen(home) == set()
    assert seen(home, ".cargo/bin") == {".cargo/bin"}


def test_no_name_makes_a_toolchain(home: Path) -> None:
    """A folder that says it is one by its name alone; and HOME itself, whatever it holds."""
    (home / ".gnupg/bin").mkdir(parents=True)
    (home / "pyvenv.cfg").write_text("")
    assert seen(home, ".gnupg/bin", "bin") == seen(home) | {".gnupg/bin", "bin/own"}


def test_links_of_the_workspace_lead_nowhere(home: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    (workspace / "bin").mkdir(parents=True)
    (workspace / "bin/evil").symlink_to(home / ".local/share/claude/versions/1.0")
    (workspace / "bin/worse").symlink_to(home / ".pyenv/versions/3/bin/python3")
    (home / ".cargo/bin/rustup").unlink()
    found = seen(home, "../work/bin", ours=(str(workspace),))
    assert found == {"../work/bin"}
