"""What a view says around a report: things about the run that the results do not hold."""

from __future__ import annotations

from typing import NamedTuple


class Frame(NamedTuple):
    """`unverified` is the sentence that says why the results are only a claim, empty if they are
    none. `run_url` leads to the run's log and files; empty when there is none.
    """

    unverified: str = ""
    run_url: str = ""


PLAIN = Frame()
"""A run on somebody's own machine."""
