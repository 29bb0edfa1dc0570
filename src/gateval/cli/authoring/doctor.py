"""`gateval doctor`: what keeps the gate from working here, and what to do about it."""

from __future__ import annotations

import os

import click


@click.command(short_help="Say what keeps the gate from working.")
@click.option(
    "--repository",
    metavar="OWNER/NAME",
    help="The repository on GitHub. Default: GITHUB_REPOSITORY, else that of the remote origin.",
)
@click.option("--fix", is_flag=True, help="Make the gate's labels on GitHub, with the token.")
def doctor(repository: str | None, *, fix: bool) -> int:
    """Check versions, history, manifests, keys, workflows, and, on GitHub, token and rules.

    Each line is ok, problem or unknown. With GITHUB_TOKEN or GH_TOKEN in the environment it also
    reads what GitHub knows; nothing is written without --fix. Exits with 1 if there is a problem.
    """
    from gateval.app.doctor.examine import examine

    return examine(dict(os.environ), repository=repository, fix=fix)
