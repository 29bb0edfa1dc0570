"""Runs programs about a playground: behind walls, as a user of their own, without keys or ports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from gateval.candidates.environment import instance_environment
from gateval.candidates.process.private import PrivateFolders
from gateval.candidates.process.processes import Programs
from gateval.candidates.process.program import MIB, Limits, Program, Ran

AT_ONCE = 4
"""Programs that run side by side, over all trials."""

OUTPUT_BYTES = MIB
"""What one may print on each stream."""

_GRACE_SECONDS = 1.0


class Helpers:
    """Runs them. `environ` is what candidates may see, `name` marks their processes."""

    def __init__(self, programs: Programs, environ: Mapping[str, str], name: str) -> None:
        self._programs = programs
        self._environ = environ
        self._name = name
        self._places = asyncio.Semaphore(AT_ONCE)

    async def run(
        self,
        argv: tuple[str, ...],
        private: PrivateFolders,
        *,
        stdin: bytes = b"",
        seconds: float,
        work: Path | None = None,
        variables: Mapping[str, str] = {},
        cut_off: bool = False,
    ) -> Ran:
        """Run one to its end, in its HOME or in the folder `work`, which it may write then.

        Raises `NotStarted`.
        """
        env = instance_environment(self._environ, self._name, private, variables)
        lent = work or private.home
        program = Program(argv, lent, env, stdin, (lent,), offline=True, cut_off=cut_off)
        async with self._places:
            return await self._programs.run(program, limits(seconds))


def limits(seconds: float) -> Limits:
    """Return the limits of such a program."""
    return Limits(
        seconds=seconds,
        grace_seconds=_GRACE_SECONDS,
        stdout_kept=OUTPUT_BYTES,
        stdout_bytes=OUTPUT_BYTES,
        stderr_bytes=OUTPUT_BYTES,
    )
