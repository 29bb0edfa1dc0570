"""`gateval lock`: pin the files of other repositories that manifests name."""

from __future__ import annotations

import click


@click.command(short_help="Pin files of other repositories that suites name.")
def lock() -> int:
    """Write .gateval/sources.lock: the commit and the content of every file that suites name by
    URL, as they are now.

    Files are fetched by git over https, without credentials, from the hosts that policy.sources of
    .github/gateval.yml names. Commit the lock file: nothing else that these URLs lead to counts.
    """
    from gateval.app.locking import lock_sources

    return lock_sources()
