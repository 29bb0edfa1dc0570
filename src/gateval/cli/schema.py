"""`gateval schema`: JSON Schemas of manifests and stage files, for editors and other tools."""

from __future__ import annotations

import click


@click.command(short_help="Print the JSON Schema of a kind.")
@click.argument("kind", required=False)
def schema(kind: str | None) -> int:
    """Print the JSON Schema of KIND, or, without KIND, the list of kinds."""
    from gateval.app.schemas import show_schema

    return show_schema(kind)
