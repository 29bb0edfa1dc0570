"""Starts the gate for `gate.js` and passes signals on; through `sudo` where that is allowed.

A process of another user can neither be given variables by name without `sudo` having a say, nor be
signalled. So both come by standard input: first a line of JSON (`arguments`, `cwd`, `env`), then a
line for each signal. When the input ends, whoever asked for the gate is gone, and the gate is asked
to end, too. Nothing secret is on a command line or in this process's own environment.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from types import FrameType

KILLED = 128
"""Added to a signal's number: the exit status of a program that it ended, as shells have it."""


def main() -> int:
    """Run the gate to its end and return its exit status."""
    order = json.loads(sys.stdin.buffer.readline())
    gate = subprocess.Popen(
        [sys.executable, "-I", "-B", "-m", "gateval", *order["arguments"]],
        cwd=order["cwd"],
        env=order["env"],
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # what a terminal sends to all would reach the gate twice
    )
    passed: set[int] = set()

    def pass_on(number: int, _frame: FrameType | None = None) -> None:
        """Pass a signal on once, however often and by whichever way it comes."""
        if number not in passed:
            passed.add(number)
            gate.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    threading.Thread(target=_listen, args=(pass_on,), daemon=True).start()
    status = gate.wait()
    return status if status >= 0 else KILLED - status


def _listen(pass_on: Callable[[int], None]) -> None:
    for line in sys.stdin.buffer:
        pass_on(signal.Signals[line.decode().strip()])
    pass_on(signal.SIGTERM)


def probe() -> int:
    """Return 0 if the gate, run like this, would have users of their own for its candidates."""
    from gateval.candidates.isolation.isolation_level import (
        ResourceLimits,
        build_isolation,
        look_around,
    )

    return int(build_isolation(look_around(), ResourceLimits()).users is None)


if __name__ == "__main__":
    # At once: the thread waits for input, and Python would wait for the thread.
    os._exit(probe() if sys.argv[1:] == ["probe"] else main())
