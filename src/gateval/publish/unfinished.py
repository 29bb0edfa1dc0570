"""A check run that GitHub did not take in the end: what it has to say, for a later try.

The step after the job gets it as text in its environment, so it is short.
"""

from __future__ import annotations

from gateval.domain.base import Value
from gateval.domain.forge.announcement import Announcement
from gateval.domain.forge.check_run import Conclusion
from gateval.publish.target import PublishTarget


class Ending(Value):
    """How a check run ends, and its title."""

    conclusion: Conclusion
    title: str


class Unfinished(Value):
    """A check run to complete. `without_labels` counts if head has moved, or one of `labels` is
    no longer on the pull request; None where no label counted. `forbidden` says that GitHub named a
    permission that is missing.
    """

    target: PublishTarget
    said: Ending
    without_labels: Ending | None = None
    labels: tuple[str, ...] = ()
    forbidden: bool = False


def ending_of(announcement: Announcement) -> Ending:
    """Return the part of an announcement that is kept."""
    return Ending(conclusion=announcement.conclusion, title=announcement.title)
