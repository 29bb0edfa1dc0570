"""`gateval check`: the whole gate on a change in the local repository."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateval.cli import options


@click.command(short_help="Measure a change against its base, and decide.")
@options.base
@options.head
@options.results
@options.max_minutes
@click.option(
    "--accept-bar-change",
    is_flag=True,
    help="Decide as if somebody who may had accepted that the change asks less than its target.",
)
def check(
    base: str | None,
    head: str | None,
    results: Path | None,
    minutes: float,
    *,
    accept_bar_change: bool,
) -> int:
    """Evaluate the Agents that a change touches, compare with the base, and decide.

    Prints the summary on stdout and progress on stderr; writes results, comment and JUnit into the
    results folder. Exits with 0 only if the gate passes.
    """
    from gateval.app.commands import check_change

    return check_change(
        dict(os.environ),
        base=base,
        head=head,
        results=results,
        accept_bar=accept_bar_change,
        minutes=minutes,
    )
