"""`gateval init`: the first Eval of an Agent, gate config and workflow."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click


@click.command(short_help="Write a first Eval and the workflow.")
@click.argument("program", required=False)
@click.option(
    "--model",
    metavar="PROVIDER/MODEL",
    help="The model of a new Agent. Default: one whose key is set, else a scripted model.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: take the likeliest program.")
def init(program: str | None, model: str | None, *, yes: bool) -> int:
    """Write what a repository needs to be gated, and say what to do next.

    Finds the Agents in this repository and gives one without an Eval its first fixture and Eval.
    Without any Agent it looks for a program that is one, in Python, Node or Go, and writes how to
    start and ask it; without a program, or with --model, it writes a small Agent. Then gate config
    and workflow. No file is ever overwritten.

    PROGRAM is the file that starts an agent, where the guess is wrong or there is a further one.
    """
    from gateval.app.starting.start import start_repository

    ask = sys.stdin.isatty() and not yes
    if program is not None and model is not None:
        raise click.UsageError("A program asks its own model: leave out PROGRAM or --model.")
    return start_repository(
        dict(os.environ), model=model, wanted=program, choose=_ask if ask else _guess
    )


def _ask(lines: Sequence[str]) -> int:
    """Have a person choose one of the lines."""
    click.echo("Which of these is the agent?")
    for number, line in enumerate(lines, 1):
        click.echo(f"  {number}  {line}")
    chosen: int = click.prompt("Number", type=click.IntRange(1, len(lines)), default=1)
    return chosen - 1


def _guess(lines: Sequence[str]) -> int:
    """Take the first, and say so."""
    click.echo(f"Several programs may be the agent; this takes the first of: {', '.join(lines)}.")
    return 0
