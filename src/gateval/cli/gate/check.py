"""`gateval check`: the whole gate on a change in the local repository."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateval.cli import options


@click.command(short_help="Measure a change against its base, and decide.")
@options.base
@options.head
@options.named("--agent", "agents", "Only this Agent; may be given again.")
@options.named("--eval", "evals", "Only this Eval; may be given again.")
@options.named("--fixture", "fixtures", "Only this fixture; may be given again.")
@click.option(
    "--failed", is_flag=True, help="Only what did not pass in the last run that measured anything."
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Measure anew what an earlier check found regressed; the decision says so.",
)
@options.results
@options.max_minutes
@click.option(
    "--accept-bar-change",
    is_flag=True,
    help="Decide as if somebody who may had accepted that the change asks less than its target.",
)
def check(
    base: str | None,
    head: str | None,
    agents: tuple[str, ...],
    evals: tuple[str, ...],
    fixtures: tuple[str, ...],
    results: Path | None,
    minutes: float,
    *,
    failed: bool,
    fresh: bool,
    accept_bar_change: bool,
) -> int:
    """Evaluate the Agents that a change touches, compare with the base, and decide.

    Prints the summary on stdout and progress on stderr; writes results, comment and JUnit into the
    results folder. Exits with 0 only if the gate passes.

    What it found regressed stands for later checks of the same Agents, fixture, Eval and judge, and
    is not measured again: --fresh does that.

    With --agent, --eval, --fixture or --failed it measures a part of that. A part never passes
    while anything is left out: where nothing speaks against the change, it is incomplete, exit 3.
    """
    from gateval.app.commands import check_change
    from gateval.domain.planning.picking import Pick

    return check_change(
        dict(os.environ),
        base=base,
        head=head,
        pick=Pick(agents=agents, evals=evals, fixtures=fixtures),
        failed=failed,
        fresh=fresh,
        results=results,
        accept_bar=accept_bar_change,
        minutes=minutes,
    )
