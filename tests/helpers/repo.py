"""Real git repositories in temporary folders, the same on every machine and at every run."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.helpers.measured import MEASURED

_FIRST_SECOND = 1_767_225_600
"""2026-01-01T00:00:00Z; every commit is a minute later than the one before."""


class Repo:
    """A repository at `path`, with the branch `main` checked out and no commit yet.

    Nothing of the machine reaches it: no configuration, no identity, no clock, no network. `env`
    is an environment for programs under test that holds to the same rules.
    """

    def __init__(self, path: Path, *, object_format: str = "sha1") -> None:
        self._at(path)
        path.mkdir(parents=True, exist_ok=True)
        kind = f"--object-format={object_format}"
        self.git("init", "--quiet", "--initial-branch=main", "--template=", kind)

    @classmethod
    def clone(cls, source: Path, path: Path, *options: str) -> Self:
        """Return a clone of `source`, made with `git clone` and these options."""
        repo = cls.__new__(cls)
        repo._at(path)
        path.mkdir(parents=True)
        repo.git("clone", "--quiet", "--template=", *options, source.as_uri(), ".")
        return repo

    @classmethod
    def bare(cls, path: Path, *, object_format: str = "sha1") -> Self:
        """Return an empty bare repository, to be a remote. Only `git` and `id` work on it."""
        repo = cls.__new__(cls)
        repo._at(path)
        path.mkdir(parents=True)
        kind = f"--object-format={object_format}"
        repo.git("init", "--quiet", "--bare", "--initial-branch=main", "--template=", kind)
        return repo

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the repository that is at `path` already."""
        repo = cls.__new__(cls)
        repo._at(path)
        return repo

    def _at(self, path: Path) -> None:
        self.path = path
        self._commits = 0

    @property
    def env(self) -> dict[str, str]:
        """PATH, an identity, a fixed time, and no configuration from outside the repository."""
        date = f"{_FIRST_SECOND + 60 * self._commits} +0000"
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.devnull,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(self.path.parent),
            "GIT_ALLOW_PROTOCOL": "file",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.com",
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.com",
            "GIT_COMMITTER_DATE": date,
            **MEASURED,
        }

    def git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git here and return what it prints; a failure ends the test with git's words."""
        line = ["git", "-c", "gc.auto=0", "-c", "maintenance.auto=false", *arguments]
        done = subprocess.run(
            line, cwd=self.path, env=self.env, input=stdin, capture_output=True, check=False
        )
        if done.returncode:
            told = done.stderr.decode(errors="replace")
            raise AssertionError(f"{' '.join(arguments)!r} exits with {done.returncode}: {told}")
        return done.stdout

    def write(self, path: str, content: str | bytes = "", *, executable: bool = False) -> Path:
        """Write a file (text as UTF-8, line ends as they are) and return where it lies."""
        target = self._place(path)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(0o755 if executable else 0o644)
        return target

    def link(self, path: str, target: str) -> Path:
        """Make a symbolic link that holds `target`."""
        place = self._place(path)
        place.symlink_to(target)
        return place

    def delete(self, path: str) -> None:
        """Delete a file, a link, or a folder with all that is in it."""
        target = self.path / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()

    def rename(self, old: str, new: str) -> None:
        """Move a file or a folder; folders on the way are made."""
        (self.path / old).rename(self._place(new))

    def commit(self, message: str = "Change") -> str:
        """Commit everything as it lies there, even if nothing changed; return the commit's id."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", f"--message={message}")
        self._commits += 1
        return self.id("HEAD")

    def commit_many(self, files: Mapping[str, str], message: str = "Many files") -> str:
        """Commit thousands of files (plain names → text) in one go; return the commit's id.

        They join what is committed already; the working tree is reset to the result.
        """
        branch = self.git("symbolic-ref", "HEAD").decode().strip()
        start = f"from {branch}^0\n" if self.git("branch", "--list", "--format=%(HEAD)") else ""
        who = f"committer Ada <ada@example.com> {_FIRST_SECOND + 60 * self._commits} +0000"
        head = f"commit {branch}\n{who}\n{_data(message)}{start}"
        changes = "".join(f"M 100644 inline {path}\n{_data(text)}" for path, text in files.items())
        self.git("fast-import", "--quiet", stdin=(head + changes).encode())
        self.git("reset", "--quiet", "--hard")
        self._commits += 1
        return self.id("HEAD")

    def branch(self, name: str, start: str = "HEAD") -> None:
        """Create a branch at `start` and check it out."""
        self.git("checkout", "--quiet", "--no-track", "-b", name, start)

    def checkout(self, name: str) -> None:
        """Check out a branch, or a commit on a detached HEAD."""
        if self._ref("HEAD") != f"ref: refs/heads/{name}":
            self.git("checkout", "--quiet", name)

    def id(self, name: str) -> str:
        """Return the object id of a revision, tree or blob.

        That of HEAD stands in files as a rule: a third of git's starts in tests would look there.
        """
        found = self._ref(self._ref("HEAD").removeprefix("ref: ")) if name == "HEAD" else ""
        return found or self.git("rev-parse", "--verify", "--end-of-options", name).decode().strip()

    def _ref(self, name: str) -> str:
        """Return what the file of a ref in a working tree says; empty if there is none."""
        with contextlib.suppress(OSError):
            return (self.path / ".git" / name).read_text("utf-8").strip()
        return ""

    def status(self) -> bytes:
        """Return what `git status` says, machine-readable; empty for a clean working tree."""
        return self.git("--no-optional-locks", "status", "--porcelain", "-z")

    def _place(self, path: str) -> Path:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
