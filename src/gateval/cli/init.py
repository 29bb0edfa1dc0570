"""`gateval init`: the first Eval of an Agent, gate config and workflow."""

from __future__ import annotations

import os

import click


@click.command(short_help="Write a first Eval and the workflow.")
@click.option(
    "--model",
    metavar="PROVIDER/MODEL",
    help="The model of a new Agent. Default: one whose key is set, else a scripted model.",
)
def init(model: str | None) -> int:
    """Write what a repository needs to be gated, and say what to do next.

    Finds the Agents in this repository and gives one without an Eval its first fixture and Eval;
    without any Agent, it writes one. Then gate config and workflow. No file is ever overwritten.
    """
    from gateval.app.starting import start_repository

    return start_repository(dict(os.environ), model=model)
