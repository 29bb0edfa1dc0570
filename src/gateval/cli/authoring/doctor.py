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
@click.option(
    "--pr",
    "number",
    type=click.IntRange(1, 2**31),
    metavar="N",
    help="Play one pull request through: would it be measured, and could it be merged?",
)
@click.option("--fix", is_flag=True, help="Make the gate's labels on GitHub, with the token.")
def doctor(repository: str | None, number: int | None, *, fix: bool) -> int:
    """Check versions, history, manifests, keys, workflows, and, on GitHub, token and rules.

    Each line is ok, problem or unknown. With GITHUB_TOKEN or GH_TOKEN in the environment it also
    reads what GitHub knows; nothing is written without --fix. Exits with 1 if there is a problem.

    --pr N asks what a push to one pull request would lead to: events, filters, conditions,
    permissions, required checks, merge queue. It needs a token, and exits with 0 if that would be
    measured and could be merged, with 1 if not, and with 3 if that cannot be told.
    """
    if number is not None:
        from gateval.app.doctor.pull_request import play_pull_request

        return play_pull_request(dict(os.environ), number, repository=repository)
    from gateval.app.doctor.examine import examine

    return examine(dict(os.environ), repository=repository, fix=fix)
