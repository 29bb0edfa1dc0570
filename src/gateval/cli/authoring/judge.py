"""`gateval judge`: try a judge before it decides anything."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateval.cli import options


@click.group(short_help="Try a judge on one answer.")
def judge() -> None:
    """Look at what a judge is asked, and at what it says."""


@judge.command("try", short_help="Ask the judge about one answer, and show everything.")
@click.argument("fixture", metavar="[EVAL/]FIXTURE", shell_complete=options.names_of("fixtures"))
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A record of a run, as `promote` reads it. Default: head's answer in the last run.",
)
@click.option("--model", metavar="PROVIDER/ID", help="This judge instead of that of the Eval.")
def try_(fixture: str, trace: Path | None, model: str | None) -> int:
    """Have the judge of an Eval look at one answer to a fixture.

    Shows the prompt, what the judge answered, its verdict, and for each violation whether the quote
    stands where the judge says. Nothing is stored, and nothing decided.

    Exits with 0 if there is a verdict on each judged assertion, with 3 otherwise.
    """
    from gateval.app.judges.try_out import try_judge

    return try_judge(dict(os.environ), fixture, trace=trace, model=model)
