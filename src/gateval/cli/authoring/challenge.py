"""`gateval challenge`: a person disagrees with a judge, and says so where it counts."""

from __future__ import annotations

import os

import click

from gateval.cli import options

REASONS = ("rubricWrong", "judgeWrong", "traceWrong")


@click.command(short_help="Add a labelled example where you disagree with a judge.")
@click.argument("fixture", shell_complete=options.names_of("fixtures"))
@click.option(
    "--score",
    type=click.FloatRange(0, 1),
    required=True,
    metavar="0..1",
    help="What you would have given.",
)
@click.option(
    "--reason",
    type=click.Choice(REASONS),
    required=True,
    help="What was wrong.",
)
@click.option("--note", required=True, metavar="TEXT", help="Why, in your words.")
@click.option(
    "--run",
    "run",
    metavar="RUN",
    help="Which run's verdict: its id, or a path. Default: the last here.",
)
@click.option(
    "--repetition", type=click.IntRange(1), metavar="N", help="Which repetition. Default: 1."
)
@click.option(
    "--calibration",
    metavar="NAME",
    help="The JudgeCalibration. Default: that of the Eval, or a new one.",
    shell_complete=options.names_of("calibrations"),
)
@click.option("--redact", is_flag=True, help="Take out secrets and personal data first.")
def challenge(
    fixture: str,
    score: float,
    reason: str,
    note: str,
    run: str | None,
    repetition: int | None,
    calibration: str | None,
    *,
    redact: bool,
) -> int:
    """Add the agent's answer in FIXTURE, with your score, to the examples of its judge.

    FIXTURE may be EVAL/FIXTURE. The example goes to the end of the JudgeCalibration that the Eval
    names; all else in that file stays as it is. An Eval without one gets a new file beside it.
    """
    from gateval.app.promotion.challenge import Challenge, challenge_verdict
    from gateval.domain.promotion.challenge import Objection

    asked = Challenge(fixture, score, Objection(reason), note, run, repetition or 1, calibration)
    return challenge_verdict(dict(os.environ), asked, redact=redact)
