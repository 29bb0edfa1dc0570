"""Finds the remote that keeps the records."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gateval.adapters.git.records.destination import destination_at
from gateval.adapters.git.records.fast_import import NOBODY, Author
from gateval.adapters.git.records.records import GitRecords
from gateval.adapters.git.records.retries import PATIENCE, PushRetries
from gateval.adapters.git.revisions import check_name
from gateval.adapters.git.run import Git
from gateval.domain.repository.paths import show_path
from gateval.errors import RecordsError, UsageError


def open_records(
    near: Git,
    environ: Mapping[str, str],
    *,
    remote: str = "origin",
    token: str = "",
    author: Author = NOBODY,
    retries: PushRetries = PATIENCE,
) -> GitRecords:
    """Return the records of a remote: a URL, or a name in the repository that `near` stands in.

    With a `token`, name the URL: a name is looked up in the repository's configuration, and its
    writers could send the token elsewhere. Raises `UsageError`, `RecordsError`.
    """
    url = remote
    if not _is_url(remote):
        if token:
            raise UsageError("A token needs the remote's URL, not its name.")
        url = _url_of(near, remote)
    place = destination_at(url, token=token, root=near.folder)
    return GitRecords(near, place, environ, author=author, retries=retries)


def _is_url(remote: str) -> bool:
    return "/" in remote or ":" in remote


def _url_of(near: Git, name: str) -> str:
    """Return the URL that git would push to for the remote `name`."""
    check_name(name)
    answer = near.run("remote", "get-url", "--push", "--", name, accept=(0, 2, 128))
    if answer.code:
        raise RecordsError(
            f"This repository has no remote {show_path(name)}; the audit log and other records "
            "are kept at a remote.",
            hint="Name one that `git remote` lists, or a URL: --remote NAME|URL. "
            "For a ref of this clone: --ref REF.",
        )
    return os.fsdecode(answer.out).split("\n", 1)[0]
