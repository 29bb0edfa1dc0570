from __future__ import annotations

import pytest

from gateval.adapters.git.run import explain, summary

DUBIOUS = b"""fatal: detected dubious ownership in repository at '/github/workspace'
To add an exception for this directory, call:

\tgit config --global --add safe.directory /github/workspace
"""


@pytest.mark.parametrize(
    ("stderr", "message", "hint"),
    [
        (
            DUBIOUS,
            "git does not trust the repository at /github/workspace",
            "git config --global --add safe.directory /github/workspace",
        ),
        (
            b"fatal: unsafe repository ('/srv/it' is owned by someone else)\n",
            "git does not trust the repository at /srv/it",
            "git config --global --add safe.directory /srv/it",
        ),
        (
            b"fatal: not a git repository (or any of the parent directories): .git\n",
            "This folder is not in a git repository.",
            "Start Gateval inside the repository",
        ),
        (
            b"fatal: unknown repository extension found:\n\tobjectformat\n",
            "cannot read this repository's format",
            "Install a newer git.",
        ),
        (
            b"fatal: could not fetch 1234567890123456789012345678901234567890 from promisor remote",
            "An object is missing from the repository",
            "clone it without `--filter`",
        ),
        (b"", "`git show` failed: it gave no reason.", ""),
        (b"hint: x\nerror: bad thing.\n", "`git show` failed: bad thing.", ""),
    ],
)
def test_known_failures_become_sentences(stderr: bytes, message: str, hint: str) -> None:
    error = explain("show", stderr)
    assert message in error.message
    assert hint in error.hint


def test_a_repository_that_cannot_be_written_to_is_measured_by_commit() -> None:
    stderr = (
        b"error: insufficient permission for adding an object to repository database .git/objects\n"
    )
    assert "name a commit: --head HEAD" in explain("add", stderr).hint
    assert not explain("fetch", stderr).hint


def test_a_quoted_line_is_one_line_of_harmless_characters() -> None:
    shown = summary("fatal: bad path 'x\x1b[31m::error::\u202e" + "y" * 10_000)
    assert shown.isascii()
    assert shown.isprintable()
    assert len(shown) < 1_000
