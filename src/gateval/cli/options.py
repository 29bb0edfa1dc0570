"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

base = click.option(
    "--base",
    metavar="REV",
    help="What to compare with; its merge-base with head counts. Default: the default branch.",
)
head = click.option(
    "--head",
    metavar="REV|WORKTREE",
    help="What to measure. Default: the working tree if it has changes, else HEAD.",
)
results = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where results go. Default: a new folder under .gateval/results.",
)
