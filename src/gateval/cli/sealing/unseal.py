"""`gateval unseal`: opens sealed manifests, or the evidence of a run, with the key."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gateval.cli import options


@click.command(short_help="Open sealed manifests, or the evidence of a run.")
@click.argument("path", type=click.Path(exists=True, path_type=Path), metavar="FILE|RESULTS")
@options.view("What to print of a run, as in `gateval report`.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write a new file of manifests, or a folder with all views of a run, instead.",
)
def unseal(path: Path, view: str, output: Path | None) -> int:
    """Open FILE.yaml.age, or the evidence in RESULTS, a run's folder or its results.v1.json.age.

    Takes the key from GATEVAL_IDENTITY. `gateval show` works on a folder that --output wrote.
    """
    from gateval.app.seals.unsealing import is_manifest_file, unseal_manifests, unseal_results

    if is_manifest_file(path):
        return unseal_manifests(dict(os.environ), path, output)
    return unseal_results(dict(os.environ), path, view, output)
