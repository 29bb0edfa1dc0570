"""Runs programs about a playground: behind walls, as a user of their own, without keys or ports."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath

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

        One that is `cut_off` works in its HOME, which is empty, and imports nothing from `work`.
        Raises `NotStarted`.
        """
        env = instance_environment(self._environ, self._name, private, variables)
        lent = work or private.home
        begins = lent
        if cut_off:
            argv, env, begins = isolated(argv), without_imports(env), private.home
        program = Program(argv, begins, env, stdin, (lent,), offline=True, cut_off=cut_off)
        async with self._places:
            return await self._programs.run(program, limits(seconds))


_PYTHON = re.compile(r"(python|pypy)(3(\.\d+)*t?)?")
_ENV_WITH_A_WORD = ("-u", "--unset", "-C", "--chdir")

_LEADS_ELSEWHERE = re.compile(
    r"(PYTHON|NODE_|NPM_|RUBY|GEM_|BUNDLE_|PERL|LUA_|PHP|LD_|DYLD_|GIT_).*"
    r"|CLASSPATH|(JAVA_TOOL|JDK_JAVA|_JAVA)_OPTIONS|BASH_ENV|ENV|R_(LIBS|PROFILE|ENVIRON).*"
)
"""Variables that tell interpreters and loaders what to read besides what they are asked."""

_SAFE = {"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1", "PERL_USE_UNSAFE_INC": "0"}
"""What keeps interpreters that a program starts from importing what lies beside it."""


def isolated(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command line whose Python takes nothing from folder and environment (`-I`)."""
    at = 0
    if PurePath(argv[0]).name == "env":
        at = 1
        while at < len(argv) and (argv[at].startswith("-") or "=" in argv[at]):
            at += 2 if argv[at] in _ENV_WITH_A_WORD else 1
    if at < len(argv) and _PYTHON.fullmatch(PurePath(argv[at]).name):
        return (*argv[: at + 1], "-I", *argv[at + 1 :])
    return argv


def without_imports(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment by which no interpreter reads what its program does not name."""
    kept = {name: text for name, text in env.items() if not _LEADS_ELSEWHERE.fullmatch(name)}
    path = os.pathsep.join(one for one in env["PATH"].split(os.pathsep) if Path(one).is_absolute())
    return {**kept, **_SAFE, "PATH": path or os.defpath}


def limits(seconds: float) -> Limits:
    """Return the limits of such a program."""
    return Limits(
        seconds=seconds,
        grace_seconds=_GRACE_SECONDS,
        stdout_kept=OUTPUT_BYTES,
        stdout_bytes=OUTPUT_BYTES,
        stderr_bytes=OUTPUT_BYTES,
    )
