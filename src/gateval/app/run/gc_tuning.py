"""Keeps Python's own housekeeping from holding up trials that wait side by side."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator

SWITCH_SECONDS = 0.0005
"""How soon another thread hands over; by default trials would wait 5 ms for it each time."""

NEW_OBJECTS = 5_000
"""After so many new objects Python looks for cycles among them: a few milliseconds. The pace of
`gateval.__main__`, right while manifests are read, would stop all trials for 50 ms at a time."""

BETWEEN_FULL_LOOKS = 1_000
"""After so many such pieces what survived them is looked through again: a pause that grows with the
run, 100 ms at 1,000 fixtures with Python's usual number, for a handful of objects."""


@contextlib.contextmanager
def small_collections() -> Iterator[None]:
    """Collect garbage in small pieces inside the body, and leave older objects alone."""
    switch, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, BETWEEN_FULL_LOOKS, thresholds[2])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
        sys.setswitchinterval(switch)
