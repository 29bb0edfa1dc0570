"""How this machine reads files of other repositories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gateval.adapters.git.sources import GitSources
from gateval.pipeline.foreign import Pinned

CLOSED = Pinned(
    None,
    "files of other repositories are fetched in trusted runs only, and this one is not. A "
    "maintainer can push the branch to this repository.",
)
"""What runs see that are somebody else's: nothing is fetched at their word."""


def git_sources(environ: Mapping[str, str]) -> GitSources:
    """Return the repositories that git reaches from here, kept in the user's cache.

    Without a home there is none: in a shared folder another user may have put a repository first.
    """
    home = environ.get("HOME", "")
    cache = Path(environ.get("XDG_CACHE_HOME") or (home and f"{home}/.cache"))
    return GitSources(cache / "gateval" / "sources" if cache.is_absolute() else None, environ)
