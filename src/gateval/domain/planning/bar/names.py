"""Names for what the base tip has under a name that head also uses."""

from __future__ import annotations

from collections.abc import Container
from itertools import count

from gateval.domain.base import digest

SUFFIX = ".base-tip"
"""Added to the name of an Eval or a scripted judge as the base tip has it."""

LONGEST = 253
"""Characters of a name of Kubernetes."""

_MARK = 12


def free_name(name: str, taken: Container[str]) -> str:
    """Return `name` with the suffix, as often as it takes to be none of `taken`.

    What would be too long is cut, and marked with digits that stand for the whole of it.
    """
    free = f"{name}{SUFFIX}"
    while free in taken and len(free) <= LONGEST:
        free += SUFFIX
    if len(free) <= LONGEST:
        return free
    stem = name[: LONGEST - len(SUFFIX) - _MARK - 1].rstrip("-.")
    marked = (f"{stem}-{digest([name, attempt])[:_MARK]}{SUFFIX}" for attempt in count())
    return next(one for one in marked if one not in taken)
