"""Remembers that somebody pressed Ctrl-C, for when the exception it raises gets lost.

Python raises `KeyboardInterrupt` wherever it happens to be. Inside a callback of compiled code, a
validator for instance, it is printed as ignored and gone, and a run that nobody wants would begin.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which somebody asks a run to end."""

_heard: list[int] = []


@contextlib.contextmanager
def handlers_kept() -> Iterator[None]:
    """Put handlers back that an event loop replaces: it leaves SIGTERM to kill the process."""
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # not set by Python
                signal.signal(number, handler)


def end_in_order() -> None:
    """Let no further signal keep a run that was cancelled from writing down what was finished.

    A runner sends SIGINT, then SIGTERM; what hangs can be killed.
    """
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def listen_for_interrupts() -> None:
    """Take note of SIGINT from now on, and raise as Python does; an ignored one stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def interrupted() -> bool:
    """Whether a SIGINT came since."""
    return bool(_heard)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _heard.append(number)
    raise KeyboardInterrupt
