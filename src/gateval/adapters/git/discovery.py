"""Finds the repository around a folder, or says why there is none that can be read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gateval.adapters.git.repository import GitRepository
from gateval.adapters.git.run import TIMEOUT_SECONDS, Git
from gateval.domain.repository.paths import show_path
from gateval.errors import RepositoryError

OLDEST_GIT = "2.31"
_NEW_OPTION = "--path-format=absolute"


def open_repository(
    start: Path,
    environ: Mapping[str, str] | None = None,
    *,
    timeout: float = TIMEOUT_SECONDS,
    trusted: bool = False,
    bare: bool = False,
) -> GitRepository:
    """Return the repository whose working tree holds the folder `start`.

    `environ` is what git's environment is made from (default: that of this process); `timeout`
    counts seconds per git process. `trusted` says that `start` is the top of a repository that may
    belong to another user, as the workspace does in a container on a runner. `bare` says that a
    working tree is not needed. Raises `RepositoryError` when git is missing or too old, when there
    is no repository, or when it is bare or belongs to someone else.
    """
    folder = start.resolve()
    # For this process alone: no configuration file is touched, and HOME may be anywhere.
    config = (f"safe.directory={folder}",) if trusted else ()
    git = Git(folder, os.environ if environ is None else environ, timeout=timeout, config=config)
    # The git folder comes last, because its name may hold any byte but NUL.
    asked = ("--is-bare-repository", "--is-inside-work-tree", "--show-cdup", "--absolute-git-dir")
    answer = git.run("rev-parse", _NEW_OPTION, *asked)
    if answer.out.startswith(_NEW_OPTION.encode()):
        raise _too_old(git)
    is_bare, inside, up, rest = os.fsdecode(answer.out).split("\n", 3)
    git_folder = rest.removesuffix("\n")
    if bare and inside != "true":
        return GitRepository(Path(git_folder), Path(git_folder), git)
    if is_bare == "true":
        where = show_path(git_folder or str(folder))
        raise RepositoryError(
            f"{where} is a bare repository; Gateval needs a working tree.",
            hint="Clone it, and start Gateval in the clone.",
        )
    if inside != "true":
        raise RepositoryError(
            f"{show_path(str(folder))} lies outside the working tree of its repository.",
            hint="Start Gateval in the folder that holds the checked-out files.",
        )
    return GitRepository((folder / up).resolve(), Path(git_folder), git)


def _too_old(git: Git) -> RepositoryError:
    """The error for git before 2.31, which repeats options it does not know."""
    version = os.fsdecode(git.run("version").out).removeprefix("git version ").strip()
    return RepositoryError(
        f"git {show_path(version)} is too old; Gateval needs {OLDEST_GIT} or newer.",
        hint="Install a newer git.",
    )
