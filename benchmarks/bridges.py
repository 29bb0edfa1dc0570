"""What a bridge costs: its start beside that of the bare interpreter with the same target, and a
turn.

CPU time of the whole process, as the kernel counts it: what else the machine does is left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Figure, median
from benchmarks.processes import BenchmarkError
from benchmarks.scale import Scale
from gateval.bridges import FOLDER

NAME = "bridges"
START_MS_BAR = 50
TURN_MS_BAR = 1
TURNS = 500

_PYTHON = """\
def text(question):
    return question


async def waits(question):
    return question
"""
_NODE = "export const text = (question) => question;\n"
_APART = 'exec 3>&1 4<&0 >&2 </dev/null && exec "$@"'
"""How the runtime `node` starts its bridge."""


class Compared(NamedTuple):
    """A bridge and the program that does the same without it."""

    what: str
    bridge: tuple[str, ...]
    bare: tuple[str, ...]


def measure(scale: Scale) -> list[Figure]:
    """Measure the bridge of each language that is here."""
    figures = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "desk.py").write_text(_PYTHON)
        (folder / "desk.mjs").write_text(_NODE)
        for one in _compared():
            pairs = [
                (_cost(one.bridge, "once", 1, folder), _cost(one.bare, "", 0, folder))
                for _ in range(5 * scale.run_rounds)
            ]
            start = median(bridge - bare for bridge, bare in pairs)
            whole, alone = (_cost(one.bridge, "turns", many, folder) for many in (TURNS, 1))
            turn = (whole - alone) / (TURNS - 1)
            figures += [
                Figure(NAME, f"{one.what}: start", 1000 * start, "ms", START_MS_BAR),
                Figure(NAME, f"{one.what}: a turn", 1000 * turn, "ms", TURN_MS_BAR),
            ]
    return figures


def _compared() -> list[Compared]:
    python = (sys.executable, str(FOLDER / "python" / "bridge.py"), ".")
    found = [
        Compared("Python", (*python, "desk:text", ""), (sys.executable, "-c", "import desk")),
        Compared(
            "Python, asyncio",
            (*python, "desk:waits", ""),
            (sys.executable, "-c", "import asyncio, desk; asyncio.run(desk.waits('x'))"),
        ),
    ]
    if shutil.which("node"):
        bridge = ("/bin/sh", "-c", _APART, "sh", "node", str(FOLDER / "node" / "bridge.mjs"), ".")
        bare = ("node", "-e", "import('./desk.mjs')")
        found.append(Compared("Node", (*bridge, "desk.mjs:text", ""), bare))
    return found


def _cost(command: tuple[str, ...], mode: str, turns: int, folder: Path) -> float:
    """Return the seconds of CPU time that a program takes for so many questions."""
    told = {"version": 1, "input": {"type": "prompt", "payload": {"prompt": "x"}}, "prompt": "x"}
    words = [*command, mode] if mode else [*command]
    with tempfile.TemporaryFile() as questions:
        questions.write((json.dumps(told) + "\n").encode() * turns)
        questions.seek(0)
        with subprocess.Popen(
            words, cwd=folder, stdin=questions, stdout=subprocess.DEVNULL
        ) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise BenchmarkError(f"{' '.join(words)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime
