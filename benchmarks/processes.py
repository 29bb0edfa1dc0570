"""Runs whole processes and says what each cost: wall time, CPU time, memory.

Nothing here imports the product. The memory figure is the kernel's high-water mark, which a child
inherits from the process that starts it, so this program has to stay small itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "VIRTUAL_ENV", "PYTHONPATH")
"""Variables that a measured process sees. PYTHONDONTWRITEBYTECODE is not among them; PYTHONPATH is,
so that another copy of the sources can be measured."""

ROOT = Path(__file__).parent.parent
GATEVAL = (sys.executable, "-P", "-m", "gateval")
IMPORT_PYDANTIC = (sys.executable, "-c", "from pydantic import BaseModel")


class BenchmarkError(Exception):
    """Something that was to be measured did not do its work, so its time means nothing."""


@dataclass(frozen=True)
class Sample:
    """One process from start to end.

    `wall` and `cpu` (user and system, its own children included) are in seconds, `memory` is the
    largest resident set in bytes.
    """

    wall: float
    cpu: float
    memory: int
    code: int
    output: str


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of measured processes: few variables, no configuration of git."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {
        **kept,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
        **(extra or {}),
    }


def sample(
    command: Sequence[str],
    folder: Path,
    *,
    env: Mapping[str, str] | None = None,
    ends_with: int = 0,
) -> Sample:
    """Run `command` in `folder` to its end. Raises `BenchmarkError` for another exit status."""
    with tempfile.TemporaryFile() as printed:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = code = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        output = printed.read().decode("utf-8", "replace")
    if code != ends_with:
        raise BenchmarkError(f"{' '.join(command)} ended with {code}:\n{output[-2000:]}")
    scale = 1 if sys.platform == "darwin" else 1024
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale, code, output)


def start(*module: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a module of this repository with its arguments; it is spoken to line by line."""
    return subprocess.Popen(
        (sys.executable, "-m", *module),
        cwd=ROOT,
        env=environment(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def interleaved(rounds: int, *subjects: Callable[[], Sample]) -> list[tuple[Sample, ...]]:
    """Run every subject once unmeasured (caches, bytecode), then all in turn, `rounds` times.

    Returns the samples by subject. Taking turns spreads what else the machine does over all alike.
    """
    for subject in subjects:
        subject()
    taken = [tuple(subject() for subject in subjects) for _ in range(rounds)]
    return list(zip(*taken, strict=True))
