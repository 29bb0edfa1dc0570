"""The frame of a report: facts about the run that the results do not hold."""

from __future__ import annotations

from typing import NamedTuple


class Frame(NamedTuple):
    """`unverified` is the sentence that says why the results are only a claim, empty if they are
    none. `run_url` leads to the run's log, `files_url` to what it uploads of the results; each is
    empty when there is none. `may_bypass` are the
    roles whose label lets a revision through, for a pull request. `anchor` is number and hash of
    the audit log's entry about this verdict; None when this run wrote none. `unkept` is the
    sentence that says that the verdict could not be recorded, empty if it was. `tree_url` is where
    head's files can be seen; empty if nowhere.
    """

    unverified: str = ""
    run_url: str = ""
    files_url: str = ""
    may_bypass: tuple[str, ...] = ()
    anchor: tuple[int, str] | None = None
    tree_url: str = ""
    unkept: str = ""


PLAIN = Frame()
"""A run on somebody's own machine."""
