"""Reads files of other repositories through git: by commit, without credentials, within limits.

Commits and trees come first, then the one file (a partial clone, gitglossary(7)); both are kept in
a folder of the gate's own, one bare repository for each source.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.adapters.git.run import Git
from gateval.adapters.git.server import FETCH, Remote
from gateval.domain.base import is_sha
from gateval.domain.paths import show_path
from gateval.errors import RepositoryError

if TYPE_CHECKING:
    from gateval.adapters.git.server import FetchRetries, RemoteServer

TRANSFER_LIMIT = 64 * 1024 * 1024
"""Bytes of the largest file that git may write for one source."""

_SETTINGS = {
    "remote.origin.promisor": "true",
    "remote.origin.partialCloneFilter": "blob:none",
    "extensions.partialClone": "origin",
    "core.repositoryFormatVersion": "1",
}
_STRICT = (("http.followRedirects", "false"), ("protocol.version", "2"))
"""Redirects are not followed: they could leave the hosts that are allowed."""

_ALONE = {
    "GIT_ALLOW_PROTOCOL": "https",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": os.devnull,  # no .netrc
}
"""Nobody's configuration, helper or password file leads to the remote."""


class GitSources:
    """Fulfils `ports.sources.Sources`.

    `cache` is a folder, None where there is none; `environ` the gate's environment, of which the
    way through the network is used; `largest` counts bytes.
    """

    def __init__(
        self,
        cache: Path | None,
        environ: Mapping[str, str],
        retries: FetchRetries | None = None,
        largest: int = TRANSFER_LIMIT,
    ) -> None:
        self._largest = largest
        self._cache = cache
        self._environ = environ
        self._retries = retries

    def commit(self, repository: str, ref: str) -> str | None:
        """See the port. A branch comes before a tag of its name."""
        if is_sha(ref):
            return ref
        git, server = self._opened(repository)
        del git
        names = [f"refs/heads/{ref}", f"refs/tags/{ref}^{{}}", f"refs/tags/{ref}"]
        told = server.ask("ls-remote", "--", repository, "HEAD", *names, answers=True)
        found = dict(line.split("\t")[::-1] for line in os.fsdecode(told).splitlines())
        return next((found[name] for name in names if is_sha(found.get(name, ""))), None)

    def read(self, repository: str, commit: str, path: str, *, limit: int) -> bytes:
        """See the port."""
        git, server = self._opened(repository)
        shown = f"{show_path(path)} of {repository} at {commit[:7]}"
        if not self._has(git, f"{commit}^{{tree}}"):
            self._fetch(server, "--depth=1", "--filter=blob:none", wanted=commit)
        entry = git.run("ls-tree", "-z", commit, "--", path).out.partition(b"\0")[0]
        mode, _, oid = os.fsdecode(entry.partition(b"\t")[0]).partition(" ")
        if not mode.startswith("100"):
            raise RepositoryError(f"{shown} is no file.", hint="Correct the URL.")
        oid = oid.partition(" ")[2]
        if not self._has(git, oid):
            self._fetch(server, "--filter=blob:none", wanted=oid)
        if int(git.run("cat-file", "-s", oid).out) > limit:
            raise RepositoryError(
                f"{shown} has more than {limit:,} bytes.", hint="Name a smaller file."
            )
        return git.run("cat-file", "blob", oid).out

    def _has(self, git: Git, name: str) -> bool:
        return git.run("cat-file", "-e", name, accept=(0, 1, 128)).code == 0

    def _fetch(self, server: RemoteServer, *options: str, wanted: str) -> None:
        try:
            server.ask("fetch", *FETCH, *options, "origin", wanted)
        except RepositoryError as error:
            if "index-pack" not in error.message:  # which the limit ends in the middle
                raise
            raise RepositoryError(
                f"{server.url} sends more than {self._largest:,} bytes, or not what git can read.",
                hint="Copy the file into this repository.",
            ) from error

    def _opened(self, repository: str) -> tuple[Git, RemoteServer]:
        # Few manifests name files of others, and all commands come by here.
        from gateval.adapters.git.server import PATIENCE, RemoteServer

        if self._cache is None:
            raise RepositoryError(
                "Files of other repositories have no folder to be kept in.",
                hint="Set HOME, or XDG_CACHE_HOME, to a folder of your own.",
            )
        folder = self._cache / hashlib.sha256(repository.encode()).hexdigest()[:32]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise RepositoryError(
                f"The cache of other repositories cannot be used: {error.strerror}.",
                hint="Set XDG_CACHE_HOME to a folder that can be written.",
            ) from error
        git = Git(folder, self._environ, largest=self._largest)
        if not (folder / "config").exists():
            git.run("init", "--quiet", "--bare", "--template=")
            for name, value in {**_SETTINGS, "remote.origin.url": repository}.items():
                git.run("config", name, value)
        remote = Remote(repository, environ=self._environ, settings=_STRICT, variables=_ALONE)
        return git, RemoteServer(git, remote, self._retries or PATIENCE)
