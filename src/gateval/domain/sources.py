"""Files of other repositories: the URLs that name them, and the lock that pins what they hold.

A branch moves, and what it holds may change without a change here. So a revision says in its own
lock file which commit is meant and what its file holds, and nothing else counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote, urlsplit

from pydantic import Field, ValidationError

from gateval.domain.base import SHA_PATTERN, Value, is_sha
from gateval.domain.strict_json import NotStrictJson, read_json

LOCK_PATH = ".gateval/sources.lock"

_PATH = re.compile(r"/(?P<repository>[\w.~-]+(?:/[\w.~-]+)+?)/(?:-/)?(?:blob|src)/(?P<rest>.+)")
_PREFIXES = frozenset(
    {
        *("feature", "feat", "bugfix", "hotfix", "fix", "release", "chore", "refactor", "docs"),
        *("test", "ci", "build", "perf", "style"),
    }
)
"""First parts of branches that are called in two."""

_SHAPE = (
    "A file of another repository is named by https://HOST/OWNER/REPO/blob/REF/PATH (on Bitbucket "
    "/src/REF/PATH), without a user, a query or a fragment."
)
_STALE = f"{LOCK_PATH} is not as `gateval lock` writes it. Run that, and commit the file."


class GitFile(Value):
    """A file of another repository: host (with its port, if any), URL to clone, branch and path.

    `choices` are the refs and paths that the URL may mean, the likeliest first: `feature/x/a.md` is
    `a.md` on the branch `feature/x`, or else `x/a.md` on `feature`.
    """

    url: str
    host: str
    repository: str
    choices: tuple[tuple[str, str], ...]

    def may_be(self, locked: LockedFile) -> bool:
        """Whether a lock names a file that this URL can mean; a whole commit id means itself."""
        return any(
            path == locked.path and (not is_sha(ref) or ref == locked.commit)
            for ref, path in self.choices
        )

    def shown(self, path: str) -> str:
        """Return what the file is called where people and agents see it."""
        return f"{self.host}/{self.repository.split('/', 3)[3].removesuffix('.git')}/{path}"


def git_file(url: str) -> GitFile:
    """Take the URL of a file apart. Raises `ValueError` with a sentence."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(_SHAPE) from None
    found = _PATH.fullmatch(parts.path)
    plain = parts.scheme == "https" and not (parts.query or parts.fragment or "@" in parts.netloc)
    if not plain or not parts.hostname or found is None or not url.isprintable():
        raise ValueError(_SHAPE)
    steps = [unquote(step) for step in found["rest"].split("/")]
    names = [*found["repository"].split("/"), *steps]
    if any(map(_is_odd, names)) or steps[0].startswith("-"):
        raise ValueError(_SHAPE)
    choices = tuple(_choices(steps))
    if not choices:
        raise ValueError(_SHAPE)
    host = parts.hostname.lower() + (f":{port}" if port else "")
    repository = found["repository"].removesuffix(".git")
    return GitFile(
        url=url,
        host=host,
        repository=f"https://{host}/{percent_encoded(repository)}.git",
        choices=choices,
    )


def _is_odd(step: str) -> bool:
    return step in {"", ".", ".."} or "/" in step or not step.isprintable()


def _choices(steps: list[str]) -> Iterator[tuple[str, str]]:
    if len(steps) > 2 and steps[0] in _PREFIXES:
        yield f"{steps[0]}/{steps[1]}", "/".join(steps[2:])
    if len(steps) > 1:
        yield steps[0], "/".join(steps[1:])


class LockedFile(Value):
    """What a URL means: a commit, the path in it, and the SHA-256 of what the file holds."""

    commit: Annotated[str, Field(pattern=SHA_PATTERN)]
    path: Annotated[str, Field(min_length=1, max_length=4_000)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    def holds(self, data: bytes) -> bool:
        """Whether this is what the file held when it was locked."""
        return hashlib.sha256(data).hexdigest() == self.sha256


class SourcesLock(Value):
    """The lock of a revision: its files by URL."""

    version: Literal[1] = 1
    files: Mapping[str, LockedFile] = Field(default_factory=dict)


def read_lock(data: bytes) -> SourcesLock:
    """Read a lock file. Raises `ValueError` with a sentence."""
    try:
        return SourcesLock.model_validate(read_json(data.decode("utf-8")))
    except (NotStrictJson, UnicodeDecodeError, ValidationError):
        raise ValueError(_STALE) from None
