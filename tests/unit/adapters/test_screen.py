"""The screen is as wide as the terminal, and a pipe is paper."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from gateval.adapters.machine import screen_of
from gateval.domain.text import PAPER, Screen


@pytest.mark.parametrize(
    ("columns", "environ", "screen"),
    [
        (80, {"TERM": "xterm"}, Screen(80, color=True)),
        (80, {"TERM": "xterm", "NO_COLOR": "1"}, Screen(80, color=False)),
        (80, {"TERM": "dumb"}, Screen(80, color=False)),
        (20, {}, Screen(60, color=True)),
        (300, {}, Screen(100, color=True)),
        (0, {}, Screen(100, color=True)),
    ],
)
def test_a_terminal(columns: int, environ: dict[str, str], screen: Screen) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with os.fdopen(theirs, "w") as terminal:
        assert screen_of(terminal, environ) == screen
    os.close(ours)


def test_a_pipe_is_paper() -> None:
    assert screen_of(io.StringIO(), {"TERM": "xterm", "COLUMNS": "40"}) == PAPER
