"""`gateval compare`: two revisions, as they were measured, or a table of benchmarks."""

from __future__ import annotations

import os

import click

from gateval.cli import options


@click.command(short_help="Compare revisions or runs that were measured. Runs nothing.")
@click.argument("runs", metavar="[A] [B] [...]", nargs=-1)
@click.option(
    "--table",
    "as_table",
    is_flag=True,
    help="Agents and benchmarks as a table, of these runs; of the newest ones, if none is named.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print the table as markdown.")
@click.option("--plot", metavar="FILE", help="Draw the table as bars, an SVG file.")
@options.fetch
def compare(
    runs: tuple[str, ...],
    plot: str | None,
    *,
    as_table: bool,
    as_json: bool,
    markdown: bool,
    fetch: bool,
) -> int:
    """Hold what was measured on B against A, fixture by fixture. Runs nothing.

    A and B are revisions, or runs (the id of one, or a path). Of a revision one run counts, as head
    or as base: the newest that is complete, and it says which. Of benchmarks and experiments it
    shows scores by task, axis and criterion. With --table, --markdown or --plot, and with more than
    two runs, it is a table of Agents and benchmarks.
    """
    from gateval.app.history.compare import show_comparison, show_table

    environ = dict(os.environ)
    if as_table or markdown or plot or len(runs) > 2:
        form = "json" if as_json else "markdown" if markdown else "text"
        return show_table(environ, runs, form=form, plot=plot, fetch=fetch)
    if len(runs) != 2:
        raise click.UsageError("Name two runs or revisions, or ask for a --table.")
    return show_comparison(environ, *runs, as_json=as_json, fetch=fetch)
