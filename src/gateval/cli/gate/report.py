"""`gateval report`: the views of results that were stored before."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateval.cli import options


@click.command(short_help="Show the results of a run again, and decide anew.")
@click.argument("run", metavar="RUN")
@options.view("markdown is the comment, json the decision, results everything with all traces.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write all views into this folder instead of printing one.",
)
def report(run: str, view: str, output: Path | None) -> int:
    """Compare and decide anew from the results of RUN: its id, or a path of it.

    Gives what `check` gave, byte for byte, and its exit code; a summary in a terminal fits the
    terminal. The folder of a run that crashed is reported from the trials that were finished; it
    cannot pass while one that was planned is missing.
    """
    from gateval.app.stored import report_results

    return report_results(dict(os.environ), run, view=view, output=output)
