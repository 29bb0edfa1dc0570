"""`gateval aa`: an unchanged agent against itself, to see how often the gate is wrong about it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateval.cli import options


@click.command(short_help="Run an unchanged agent against itself; count false alarms.")
@click.argument("evals", nargs=-1, required=True, metavar="EVAL...")
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="How often the gate is run.",
)
@options.rev
@options.results
def aa(evals: tuple[str, ...], runs: int, rev: str | None, results: Path | None) -> int:
    """Hold one revision against itself, as an A/A test does.

    Reports how often the gate would have blocked though nothing changed, how many trials it took,
    and how often it would find a drop of a given size, as a table and a plot. Each run makes all
    its model calls.
    """
    from gateval.app.self_check import check_itself

    return check_itself(dict(os.environ), evals, runs=runs, rev=rev, results=results)
