"""`gateval promote`: what an agent once did becomes a fixture."""

from __future__ import annotations

import os

import click

from gateval.cli import options


@click.command(short_help="Make fixtures of recorded runs.")
@click.argument("trace", metavar="TRACE")
@click.option(
    "--agent",
    metavar="NAME",
    help="The Agent that the fixtures are for. Default: the only one.",
    shell_complete=options.names_of("agents"),
)
@click.option("--fixture", metavar="NAME", help="Of results of a run, only this fixture.")
@click.option(
    "--allow-failed",
    is_flag=True,
    help="Write answers that did not pass, too, with assertions to fill in.",
)
@click.option("--redact", is_flag=True, help="Take out secrets and personal data first.")
@click.option("--dry-run", is_flag=True, help="Print the fixtures, and write nothing.")
def promote(
    trace: str,
    agent: str | None,
    fixture: str | None,
    *,
    allow_failed: bool,
    redact: bool,
    dry_run: bool,
) -> int:
    """Propose fixtures for the runs in TRACE: a file, `-`, or a run (its id, or a path).

    Reads results of Gateval, messages as chat APIs have them, OTLP in JSON, and JSONL of any of
    these. A fixture has the input, `toolCalled` for the tools that were used, `contains` for what
    the answer states, `toolReplay` with what the tools answered, and the label agent=NAME. They go
    into a new file beside the Agent's other fixtures; nothing is overwritten. An answer that did
    not pass is no example to follow, and is refused.
    """
    from gateval.app.promotion.promote import promote_traces

    return promote_traces(
        dict(os.environ),
        trace,
        agent=agent,
        fixture=fixture,
        allow_failed=allow_failed,
        redact=redact,
        dry_run=dry_run,
    )
