"""Runs the gate in a process of its own that need not import it first: most of a run's CPU time.

A server, one for each worker of the suite, imports the gate once and forks for each run. Runs that
are signalled or looked at from outside, and those of `beside_runner`, start as a user's do.
"""

from __future__ import annotations

import ctypes
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from unittest import mock

from examples.demo import WITHOUT_RIGHTS
from tests.helpers.measured import MEASURED

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.helpers.warmed"])
_ROOT = Path(__file__).parents[2]

_CAPABILITIES = 64
_CAP_SYS_PTRACE = 19
_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION_3 = 0x20080522
"""Of <linux/prctl.h> and <linux/capability.h>."""

Printed = subprocess.CompletedProcess[str]


def run_forked(
    arguments: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    *,
    seconds: float,
    stdin: str = "",
    rights: bool = True,
) -> Printed:
    """Run `gateval ARGUMENTS` in `folder` to its end, with this environment and input.

    Without `rights` root's capabilities are dropped first, as `setpriv` does. Raises
    `subprocess.TimeoutExpired` after that many seconds; the run is killed then.
    """
    if MEASURED:  # coverage is counted from a process's start
        return subprocess.run(
            [*(() if rights else WITHOUT_RIGHTS), sys.executable, "-P", "-m", "gateval", *arguments],
            cwd=folder, env=env, timeout=seconds, check=False,
            input=stdin, capture_output=True, text=True, errors="surrogateescape",
        )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="gateval-forked-") as kept:
        files = [Path(kept) / name for name in ("in", "out", "err")]
        files[0].write_text(stdin, errors="surrogateescape")
        given = (tuple(arguments), folder, dict(env), files, rights)
        start_server()
        run = FORKS.Process(target=_gateval, args=given)
        run.start()
        run.join(seconds)
        if run.exitcode is None:
            run.kill()
            raise subprocess.TimeoutExpired(["gateval", *arguments], seconds)
        out, err = (file.read_text(errors="surrogateescape") for file in files[1:])
    return Printed(arguments, run.exitcode, out, err)


def start_server() -> None:
    """Start the fork server where it is not up, wherever the tests are: it has to find `tests`."""
    with mock.patch.dict(os.environ, PYTHONPATH=str(_ROOT)):
        ensure_running()


def _gateval(
    arguments: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    files: Sequence[Path],
    rights: bool,
) -> None:
    """Be the process that `python -P -m gateval` is."""
    from gateval.__main__ import main

    opened = [os.open(files[0], os.O_RDONLY)]
    opened += [os.open(file, os.O_WRONLY | os.O_CREAT, 0o600) for file in files[1:]]
    if not rights:
        _drop_capabilities()
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


def _drop_capabilities() -> None:
    """Do what `setpriv --bounding-set=-all --inh-caps=-all` does, for a process that is running.

    It may still look at processes with more rights, as at any other of its user: the providers that
    it asks are threads of the tests. What it starts may not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    kept = (ctypes.c_uint32 * 6)(1 << _CAP_SYS_PTRACE, 1 << _CAP_SYS_PTRACE)
    if libc.capset(header, kept) != 0:
        raise OSError(ctypes.get_errno(), "capset")
