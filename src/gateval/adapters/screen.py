"""What standard output can show: a terminal has a width and colours, a file or pipe neither."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TextIO

from gateval.domain.paths import show_path

NARROWEST = 60
WIDEST = 100
"""Columns. Longer lines are hard to read, and this is the width of stored summaries."""


class Screen(NamedTuple):
    """The columns that lines may have, and whether colours may be used."""

    width: int
    color: bool


PAPER = Screen(WIDEST, color=False)
"""What stored summaries are made for, so that the bytes in a file or a log never vary."""


def is_plain(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for text without colours and moving lines."""
    return "NO_COLOR" in environ or environ.get("TERM") == "dumb"


def screen_of(stream: TextIO, environ: Mapping[str, str]) -> Screen:
    """Return the screen that `stream` writes to; `PAPER` unless it is a terminal."""
    if not stream.isatty():
        return PAPER
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return PAPER
    width = min(max(columns, NARROWEST), WIDEST) if columns else WIDEST
    return Screen(width, color=not is_plain(environ))


def show_here(path: Path) -> str:
    """Return a path relative to the working folder if it lies inside; odd characters quoted."""
    here = Path.cwd()
    inside = path.is_absolute() and path.is_relative_to(here) and path != here
    return show_path(str(path.relative_to(here) if inside else path))
