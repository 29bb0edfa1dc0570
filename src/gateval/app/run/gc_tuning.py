"""Keeps Python's own housekeeping from holding up trials that wait side by side."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator, Mapping

SWITCH_SECONDS = 0.0005
"""How soon another thread hands over; by default trials would wait 5 ms for it each time."""

NEW_OBJECTS = 5_000
"""After so many new objects Python looks for cycles among them: a few milliseconds. The pace of
`gateval.__main__`, right while manifests are read, would stop all trials for 50 ms at a time."""

BETWEEN_FULL_LOOKS = 1_000
"""After so many such pieces what survived them is looked through again: a pause that grows with the
run, 100 ms at 1,000 fixtures with Python's usual number, for a handful of objects."""


LOOKED_AT = 8
"""Of so many pieces one is looked through, as long as little is found: to look costs a fifteenth of
the time of a run in which nearly nothing is garbage in cycles."""

MUCH_GARBAGE = NEW_OBJECTS // 10
"""So many objects found in one piece show that there are cycles: all pieces are looked at then."""


class _Spared:
    """A callback of `gc` that sets most pieces aside before they are looked through."""

    def __init__(self) -> None:
        self._pieces = 0
        self._much = False

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        if phase == "stop":
            self._much = self._much or info["collected"] >= MUCH_GARBAGE
            return
        self._pieces += 1
        if self._pieces % LOOKED_AT and not self._much:
            gc.freeze()


@contextlib.contextmanager
def small_collections() -> Iterator[None]:
    """Collect garbage in small pieces inside the body, and leave older objects alone."""
    switch, thresholds, spared = sys.getswitchinterval(), gc.get_threshold(), _Spared()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, BETWEEN_FULL_LOOKS, thresholds[2])
    gc.callbacks.append(spared)
    try:
        yield
    finally:
        gc.callbacks.remove(spared)
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(switch)
