"""Where GitHub does otherwise than its own description says. Each line names its witness."""

from __future__ import annotations

import re

_KNOWN = [
    # A label without a description has null there; only some of the schemas admit it.
    (r"answer 200", r"(.*/)?labels/\d+/description", r"null is not of type"),
    # The head of a pull request whose fork is deleted has no repository any more.
    (r"answer 200", r"(\d+/)?head/repo", r"null is not"),
    # Labels may come as a bare list: PyGithub sends them so, and always has.
    (r"POST .*/labels: request", r"", r"\[.*\] is not valid under any of the schemas"),
]


def is_known(where: str, place: str, message: str) -> bool:
    """Say whether this breach is GitHub's own."""
    return any(
        re.search(first, where) and re.fullmatch(second, place) and re.match(third, message)
        for first, second, third in _KNOWN
    )
