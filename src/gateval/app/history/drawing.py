"""Writes a plot where somebody asked for it."""

from __future__ import annotations

import sys
from pathlib import Path

from gateval.adapters.folders import opened_folder, replace_file
from gateval.domain.repository.paths import show_path
from gateval.errors import UsageError


def write_plot(path: Path, text: str, said: str = "") -> None:
    """Write an SVG document and say where. Raises `UsageError` where that cannot be."""
    try:
        with opened_folder(path.parent) as folder:
            replace_file(folder, path.name, text.encode())
    except OSError as error:
        raise UsageError(f"{show_path(str(path))} cannot be written: {error.strerror}.") from error
    print(f"{path}{f': {said}' if said else ''}.", file=sys.stderr)
