"""Paths of this machine as people know them: a runner's own folders tell nobody anything."""

from __future__ import annotations

from pathlib import Path

from gateval.domain.paths import show_path


def show_here(path: Path) -> str:
    """Return a path relative to the working folder if it lies inside; odd characters quoted."""
    here = Path.cwd()
    inside = path.is_absolute() and path.is_relative_to(here) and path != here
    return show_path(str(path.relative_to(here) if inside else path))
