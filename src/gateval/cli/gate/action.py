"""`gateval action`: the entry of the GitHub Action."""

from __future__ import annotations

import os

import click


@click.command(short_help="The GitHub Action: what a workflow's step starts.")
@click.argument("part", required=False, type=click.Choice(["post"]))
def action(part: str | None) -> int:
    """Run the gate as the environment of a GitHub Actions runner says (INPUT_*, GITHUB_*).

    With `post`, complete the check run that a crash left in progress; the runner starts that by
    itself when the job ends.
    """
    from gateval.app.action.entry import close_action, run_action

    return close_action(os.environ) if part else run_action(os.environ)
