"""`gateval run`: a plan that was made before, or named Evals on one revision."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateval.cli import options


@click.command(short_help="Run Evals on one revision, or a stored plan.")
@click.argument("evals", nargs=-1, metavar="[EVAL]...")
@click.option("--fixture", "fixtures", multiple=True, metavar="NAME", help="Only this fixture.")
@click.option(
    "--rev", metavar="REV|WORKTREE", help="Default: the working tree if it has changes, else HEAD."
)
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
    """Run Evals on one revision without a baseline, or a plan written by `gateval plan --json`."""
    from gateval.app.commands import run_evals, run_plan_file

    if plan_file is not None:
        if evals or fixtures or rev:
            raise click.UsageError("--plan stands alone: the plan says what runs.")
        return run_plan_file(dict(os.environ), plan_file, results=results, minutes=minutes)
    if not evals:
        raise click.UsageError("Name at least one Eval, or give a plan with --plan FILE.")
    return run_evals(
        dict(os.environ), evals, fixtures=fixtures, rev=rev, results=results, minutes=minutes
    )
