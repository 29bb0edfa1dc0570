"""`gateval validate`: everything that is wrong with the manifests, in one run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Check all manifests.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
def validate(paths: tuple[Path, ...]) -> int:
    """Check all manifests, or show only what concerns these files and folders.

    Reads the working tree as a commit would hold it: ignored files do not count.
    """
    from gateval.app.planning import validate_manifests

    return validate_manifests(paths)
