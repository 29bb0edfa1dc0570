"""Remotes that take or refuse pushes, and everything of a clone that nobody may change."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from tests.helpers.repo import Repo


def cloned(tmp_path: Path, *, object_format: str = "sha1") -> tuple[Repo, Repo]:
    """A repository with one commit, pushed to the bare remote `origin`."""
    origin = Repo.bare(tmp_path / "origin.git", object_format=object_format)
    repo = Repo(tmp_path / "repo", object_format=object_format)
    repo.write("README.md", "Shop\n")
    repo.commit()
    repo.git("remote", "add", "origin", origin.path.as_uri())
    repo.git("push", "--quiet", "origin", "main")
    return repo, origin


def everything(folder: Path) -> dict[str, str]:
    """Every file below a folder with its mode and a digest of its content, `.git` included."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place) / name
            content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            mode = oct(path.lstat().st_mode)
            found[str(path.relative_to(folder))] = f"{mode} {hashlib.sha256(content).hexdigest()}"
    return found


def refuse_with(remote: Repo, words: str, hook: str = "pre-receive") -> None:
    """Give a bare repository a hook that refuses every push with these words."""
    path = remote.path / "hooks" / hook
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{words}\nEND\nexit 1\n")
    path.chmod(0o755)
