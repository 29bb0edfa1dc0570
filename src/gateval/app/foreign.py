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
    """Return the repositories that git reaches from here, kept in the user's cache."""
    home = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME') or '/tmp'}/.cache"  # noqa: S108
    return GitSources(Path(home) / "gateval" / "sources", environ)
