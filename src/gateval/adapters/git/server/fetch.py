"""Fetches what a clone lacks: a commit, the live tip of a branch, history up to a merge-base.

Objects are all that is added; no ref and no FETCH_HEAD is written, and a clone that is not shallow
never becomes it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from gateval.adapters.git.cat_file import looked_up
from gateval.adapters.git.run import Git
from gateval.adapters.git.server.asking import (
    GONE,
    PATIENCE,
    FetchRetries,
    RemoteServer,
    ServerAway,
)
from gateval.adapters.git.server.remote import FETCH, Remote
from gateval.domain.base import is_sha
from gateval.domain.repository.paths import show_path
from gateval.errors import RepositoryError

FIRST_DEPTH = 50
"""Commits of history that a shallow clone gets with a missing commit."""

STEPS = (200, 1_000, 5_000)
"""Commits by which history is deepened, step by step, before all of it is fetched."""


class Fetcher:
    """Brings commits of one remote into one clone. Raises `RepositoryError`.

    `depth` and `steps` count commits, as `FIRST_DEPTH` and `STEPS` say.
    """

    def __init__(
        self,
        git: Git,
        remote: Remote,
        *,
        depth: int = FIRST_DEPTH,
        steps: Sequence[int] = STEPS,
        retries: FetchRetries = PATIENCE,
    ) -> None:
        self._git = git
        self._server = RemoteServer(git, remote, retries)
        self._depth = depth
        self._steps = steps

    def tip(self, branch: str) -> str:
        """Ask the remote for the commit that a branch is at now.

        It is asked for HEAD as well, which every server names: an answer without any ref is none.
        """
        ref = f"refs/heads/{branch}"
        told = self._server.ask("ls-remote", "--", self._server.url, "HEAD", ref, answers=True)
        for line in os.fsdecode(told).splitlines():
            oid, _, name = line.partition("\t")
            if name == ref and is_sha(oid):
                return oid
        raise RepositoryError(
            f"The branch {show_path(branch)} is not on the server any more.",
            hint="Was it renamed or deleted? The gate reads its rules from there.",
        )

    def bring(self, commits: Sequence[str], *, instead: str = "") -> None:
        """See that these commits are here, fetching those that are not.

        `instead` is a ref that leads to the missing ones where a server gives out no commit by its
        id.
        """
        missing = self._missing(commits)
        if not missing:
            return
        depth = (f"--depth={self._depth}",) if self._cuts() else ()
        try:
            self._fetch(*depth, wanted=missing)
        except RepositoryError as error:
            if not instead or isinstance(error, ServerAway):
                raise
            self._fetch(*depth, wanted=[instead])
        if lost := self._missing(missing):
            raise RepositoryError(f"The commit {lost[0]} is not on the server any more.", hint=GONE)

    def join(self, one: str, other: str) -> None:
        """Deepen a shallow clone until the merge-base of two commits is known for certain.

        Ends, too, when all history is here and there is none.
        """
        for step in self._steps:
            if self._is_joined(one, other):
                return
            self._fetch(f"--deepen={step}", wanted=[one, other])
        if not self._is_joined(one, other):
            self._fetch("--unshallow", wanted=[one, other])

    def _is_joined(self, one: str, other: str) -> bool:
        """Whether a merge-base is here and no cut in history could hide a better one."""
        cuts = self._cuts()
        if not cuts:
            return True
        found = self._git.run("merge-base", "--end-of-options", one, other, accept=(0, 1))
        if found.code:
            return False
        base = found.out.decode().strip()
        between = self._git.run("rev-list", one, other, f"^{base}", "--")
        return not cuts & set(between.out.decode().split())

    def _cuts(self) -> set[str]:
        """The commits whose parents are missing because the clone is shallow; none if it is not."""
        try:
            return set(self._shallow_file.read_text().split())
        except FileNotFoundError:
            return set()

    @cached_property
    def _shallow_file(self) -> Path:
        where = os.fsdecode(self._git.run("rev-parse", "--git-path", "shallow").out)
        return self._git.folder / where.removesuffix("\n")

    def _missing(self, commits: Sequence[str]) -> list[str]:
        wanted = list(dict.fromkeys(commits))
        asked = "".join(f"{commit}^{{tree}}\n" for commit in wanted).encode()
        lines = looked_up(self._git, asked)
        return [
            commit
            for commit, line in zip(wanted, lines, strict=True)
            if line.split()[1:2] != [b"tree"]
        ]

    def _fetch(self, *options: str, wanted: Sequence[str]) -> None:
        self._server.ask("fetch", *FETCH, *options, "--", self._server.url, *wanted)
