"""`gateval get`: how Evals, Agents, fixtures and calibrations stand."""

from __future__ import annotations

import os

import click

from gateval.cli import options

KINDS = {
    "evals": ("eval", "ev"),
    "benchmarks": ("benchmark", "bm"),
    "experiments": ("experiment", "ex"),
    "agents": ("agent",),
    "fixtures": ("fixture", "eval-fixtures", "eval-fixture", "efx"),
    "calibrations": ("calibration", "judge-calibrations", "judge-calibration", "jcal"),
}
"""What can be asked for, and its other names."""

_NAMES = {name: kind for kind, others in KINDS.items() for name in (kind, *others)}


@click.command(short_help="Show how Evals, Agents, fixtures and calibrations stand.")
@click.argument("kind", type=click.Choice(list(_NAMES)), metavar="KIND")
@click.argument("name", required=False)
@click.option(
    "-o",
    "form",
    type=click.Choice(["table", "wide", "json", "yaml"]),
    default="table",
    show_default=True,
    help="How to show it.",
)
@options.fetch
def get(kind: str, name: str | None, form: str, *, fetch: bool) -> int:
    """Show how things stand, by the newest run that is known: in CI, or in this clone.

    KIND is evals, benchmarks, experiments, agents, fixtures or calibrations; with NAME, that one
    with all details. An Eval is Pending before its first run, Running, Passed, Failed, or Stale
    when its Agent has changed since; a run of a benchmark is active, completed, cancelled, failed
    or timed_out.
    """
    from gateval.app.history.get import show

    return show(dict(os.environ), _NAMES[kind], name, form=form, fetch=fetch)
