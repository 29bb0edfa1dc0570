"""Remembers that somebody pressed Ctrl-C, for when the exception it raises gets lost.

Python raises `KeyboardInterrupt` wherever it happens to be. Inside a callback of compiled code, a
validator for instance, it is printed as ignored and gone, and a run that nobody wants would begin.
"""

from __future__ import annotations

import signal
from types import FrameType

_heard: list[int] = []


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
