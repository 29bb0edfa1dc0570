"""`gateval schema`: JSON Schemas of manifests and stage files, for editors and other tools."""

from __future__ import annotations

import click


@click.command(short_help="Print the JSON Schema of a kind.")
@click.argument("kind", required=False)
@click.option("--all", "every", is_flag=True, help="One schema for files with several kinds.")
def schema(kind: str | None, *, every: bool) -> int:
    """Print the JSON Schema of KIND, or, without KIND, the list of kinds."""
    from gateval.app.schemas import show_all, show_schema

    if every and kind:
        raise click.UsageError("--all stands alone: it is one schema for all kinds of manifests.")
    return show_all() if every else show_schema(kind)
