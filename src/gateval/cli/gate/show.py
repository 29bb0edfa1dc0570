"""`gateval show`: what an agent did in a stored run, step by step."""

from __future__ import annotations

import os

import click


@click.command(short_help="Show what an agent did in a stored run, step by step.")
@click.argument("words", nargs=-1, metavar="[RUN] [FIXTURE]")
@click.option(
    "--repetition",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Show this repetition. Default: head's worst.",
)
@click.option("--full", is_flag=True, help="Show all that was said, however long.")
def show(words: tuple[str, ...], repetition: int | None, *, full: bool) -> int:
    """Show the steps of one fixture, head beside base; without FIXTURE, list the fixtures.

    RUN is the id of a run, or a path of it; the default is the last. FIXTURE may be
    written EVAL/FIXTURE. Steps that a failed assertion rests on are marked with `>`, and quotes of
    a judge are looked for in the step again.
    """
    from gateval.app.history.show import show_run

    if len(words) > 2:
        raise click.UsageError("Name a run and a fixture, or one of them, or nothing.")
    return show_run(dict(os.environ), words, repetition=repetition, full=full)
