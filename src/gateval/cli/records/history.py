"""`gateval history`: how scores went from run to run."""

from __future__ import annotations

import os

import click

from gateval.cli import options


@click.command(short_help="Show how the scores of Evals went from run to run.")
@click.argument("name", required=False, metavar="[EVAL]", shell_complete=options.names_of("evals"))
@click.option(
    "--plot",
    metavar="FILE.svg|terminal",
    help="Draw the scores: into a file, or as characters here.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=50,
    show_default=True,
    metavar="N",
    help="The last so many runs of each Eval.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, the oldest run first.")
@options.fetch
def history(name: str | None, plot: str | None, limit: int, *, as_json: bool, fetch: bool) -> int:
    """Show the runs of an Eval with score, interval and what regressed; or a line for each Eval.

    Of an Experiment, it shows the average of each scorer over its sets, too, and `--plot` draws
    these.

    Runs of pull requests are left out: they measure what somebody proposes.
    """
    from gateval.app.history.trend import show_history

    return show_history(
        dict(os.environ), name, plot=plot, limit=limit, as_json=as_json, fetch=fetch
    )
