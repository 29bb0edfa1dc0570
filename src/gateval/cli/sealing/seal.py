"""`gateval seal`: encrypts manifests, so that only holders of a key can read what they ask."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command(short_help="Encrypt manifests for holders of a key.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option(
    "--new-key",
    "key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Make a key instead: write it to FILE, and print its public one.",
)
def seal(files: tuple[Path, ...], key: Path | None) -> int:
    """Write FILE.age beside each FILE of Evals and fixtures, for those in `policy.recipients`.

    What they ask, and the evidence on it, is shown to holders of the key alone; scores are for
    everybody. A run opens them with the key in GATEVAL_IDENTITY.
    """
    from gateval.app.seals.sealing import new_key, seal_files

    if bool(files) is (key is not None):
        raise click.UsageError("Name files to seal, or a file for a new key.")
    return new_key(key) if key is not None else seal_files(dict(os.environ), files)
