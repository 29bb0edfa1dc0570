"""`gateval due`: which Evals their schedules want run."""

from __future__ import annotations

import os

import click

from gateval.cli import options


@click.command(short_help="List the Evals that their schedules want run now.")
@click.option("--json", "as_json", is_flag=True, help="Print all Evals with a schedule as JSON.")
@options.fetch
def due(*, as_json: bool, fetch: bool) -> int:
    """List the Evals whose time has come since they ran last on the default branch.

    One name a line. An Eval that missed several times is due once; one that never ran is due.
    """
    from gateval.app.history.due import show_due

    return show_due(dict(os.environ), as_json=as_json, fetch=fetch)
