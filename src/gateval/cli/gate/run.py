"""`gateval run`: a plan that was made before, or named Evals on one revision."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from gateval.cli import options


@click.command(short_help="Run Evals on one revision, or a stored plan.")
@click.argument("evals", nargs=-1, metavar="[EVAL]...", shell_complete=options.names_of("evals"))
@options.named("--fixture", "fixtures", "Only this fixture.")
@options.rev
@click.option("--plan", "plan_file", metavar="FILE|-", help="Run this plan.v1 JSON instead.")
@options.results
@options.max_minutes
def run(
    evals: tuple[str, ...],
    fixtures: tuple[str, ...],
    rev: str | None,
    plan_file: str | None,
    results: Path | None,
    minutes: float,
) -> int:
    """Run Evals on one revision without a baseline, or a plan written by `gateval plan --json`.

    Without a name it offers the Evals that are there.
    """
    from gateval.app.commands import run_evals, run_plan_file

    if plan_file is not None:
        if evals or fixtures or rev:
            raise click.UsageError("--plan stands alone: the plan says what runs.")
        return run_plan_file(dict(os.environ), plan_file, results=results, minutes=minutes)
    if not evals:
        evals = _offer(rev)
    return run_evals(
        dict(os.environ), evals, fixtures=fixtures, rev=rev, results=results, minutes=minutes
    )


def _offer(rev: str | None) -> tuple[str, ...]:
    """Have a person choose one of the Evals; where there is nobody to ask, list them and fail."""
    from gateval.app.offers import evals_here

    offered = evals_here(rev)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        named = "".join(f"\n  gateval run {name}" for name, _ in offered)
        raise click.UsageError(f"Name at least one Eval, or give a plan with --plan FILE:{named}")
    click.echo("Which Eval?")
    for number, (name, about) in enumerate(offered, 1):
        click.echo(f"  {number}  {name}  ({about})")
    last = len(offered)
    chosen: int = click.prompt(
        "Number", type=click.IntRange(1, last), default=None if last > 1 else 1
    )
    return (offered[chosen - 1][0],)
