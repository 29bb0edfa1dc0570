"""`gateval import`: native manifests out of files of other formats."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("import", short_help="Write native manifests for a file of another format.")
@click.argument("format_", metavar="FORMAT", type=click.Choice(["agentv"]))
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
def import_(format_: str, file: Path) -> int:
    """Write native manifests for FILE, a suite of AgentV (FORMAT `agentv`), beside it.

    Nothing needs to be imported: suites are read as they are. This is for those who want to go on
    with native manifests. Says what does not carry over; no file is ever overwritten.
    """
    del format_
    from gateval.app.importing import import_agentv

    return import_agentv(file)
