"""`gateval compare`: two revisions, as they were measured."""

from __future__ import annotations

import os

import click

from gateval.cli import options


@click.command(short_help="Compare two revisions or runs that were measured. Runs nothing.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.fetch
def compare(first: str, second: str, *, as_json: bool, fetch: bool) -> int:
    """Hold what was measured on B against A, fixture by fixture. Runs nothing.

    A and B are revisions, ids of runs, or folders of results.
    """
    from gateval.app.history.compare import show_comparison

    return show_comparison(dict(os.environ), first, second, as_json=as_json, fetch=fetch)
