"""Runs the action in a process of its own that need not import it first: most of a run's CPU time.

A server, one for each worker of the suite, imports the gate once and forks for each run. Runs that
are signalled or looked at from outside, and those of `beside_runner`, start as a user's do.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.helpers.measured import MEASURED

NEEDED = (
    "gateval.app.action.entry",
    "gateval.app.action.labels.restate",
    "gateval.app.run.evaluate",
    "gateval.app.run.measure",
    "gateval.app.run.views",
    "gateval.cli.action",
    "gateval.cli.main",
    "gateval.render.github.restated",
)
"""What the action imports on its way."""

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(list(NEEDED))

Printed = subprocess.CompletedProcess[str]


def run_forked(
    arguments: Sequence[str], folder: Path, env: Mapping[str, str], *, seconds: float
) -> Printed:
    """Run `gateval ARGUMENTS` in `folder` to its end, with this environment and no input.

    Raises `subprocess.TimeoutExpired` after that many seconds; the run is killed then.
    """
    if MEASURED:  # coverage is counted from a process's start
        return subprocess.run(
            [sys.executable, "-P", "-m", "gateval", *arguments],
            cwd=folder, env=env, timeout=seconds, check=False,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="gateval-forked-") as kept:
        files = [Path(kept) / name for name in ("out", "err")]
        run = _FORKS.Process(target=_gateval, args=(tuple(arguments), folder, dict(env), files))
        run.start()
        run.join(seconds)
        if run.exitcode is None:
            run.kill()
            raise subprocess.TimeoutExpired(["gateval", *arguments], seconds)
        out, err = (file.read_text() for file in files)
    return Printed(arguments, run.exitcode, out, err)


def _gateval(
    arguments: Sequence[str], folder: Path, env: Mapping[str, str], files: Sequence[Path]
) -> None:
    """Be the process that `python -P -m gateval` is."""
    from gateval.__main__ import main

    opened = [os.open(os.devnull, os.O_RDONLY)]
    opened += [os.open(file, os.O_WRONLY | os.O_CREAT, 0o600) for file in files]
    for number, descriptor in enumerate(opened):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    streams = [io.TextIOWrapper(io.FileIO(number, mode)) for number, mode in enumerate("rww")]
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.argv = ["gateval", *arguments]
    main()
