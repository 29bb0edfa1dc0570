"""`gateval flaky`: fixtures that pass now and then."""

from __future__ import annotations

import os

import click

from gateval.cli import options


@click.command(short_help="List the fixtures that pass now and then, and who wavers.")
@click.argument("name", required=False, metavar="[EVAL]", shell_complete=options.names_of("evals"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.fetch
def flaky(name: str | None, *, as_json: bool, fetch: bool) -> int:
    """List the fixtures whose trials did not all end alike, with their pass rates.

    The judge wavers where it said otherwise about the same output; else the agent does. What a
    steadier fixture would save is computed from the rule of the gate.
    """
    from gateval.app.history.compare import show_flaky

    return show_flaky(dict(os.environ), name, as_json=as_json, fetch=fetch)
