"""`gateval plan`: what would run, and why."""

from __future__ import annotations

import os

import click

from gateval.cli import options


@click.command(short_help="Show what changed and what would run. Runs nothing.")
@options.base
@options.head
@click.option("--json", "as_json", is_flag=True, help="Print the plan as plan.v1 JSON.")
def plan(base: str | None, head: str | None, *, as_json: bool) -> int:
    """Show which Agents changed, which Evals that selects, and how much would run. Runs nothing."""
    from gateval.app.planning import show_plan

    return show_plan(dict(os.environ), base=base, head=head, as_json=as_json)
