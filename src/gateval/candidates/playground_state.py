"""The end state of a trial's playground: what assertions may ask about it.

Its candidate is gone by then, with all its processes, so nobody changes it meanwhile; its services
live on, for they are asked what they hold. A command works in a copy, so that no assertion sees
what another one did.

A script may attach any file, and a file that a candidate wrote may be made to break the library:
neither is for the process that holds the keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import posixpath
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gateval.candidates import playground_files
from gateval.candidates.base import Addresses, Playground
from gateval.candidates.environment import instance_environment
from gateval.candidates.failures import failure
from gateval.candidates.playground_files import FoundPath, ListedFile, StateUnreadable
from gateval.candidates.preparing import Workplace
from gateval.candidates.processes import Programs
from gateval.candidates.program import (
    MIB,
    NotStarted,
    PrivateFolders,
    Program,
    ProgramLimits,
    Ran,
    private_folders,
    remove_tree,
)
from gateval.candidates.server import Launch
from gateval.domain.base import JsonObject
from gateval.domain.manifests.playground import PLAYGROUND, VARIABLE
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Cause
from gateval.ports.model_calls import LocalHttpError, LocalReply, LocalRequest
from gateval.safe.legible import shorten

if TYPE_CHECKING:
    from gateval.candidates.server import Instance


def told_of(playground: Playground | None, addresses: Addresses) -> Addresses:
    """Return what programs of a trial are told: of an Agent's services, and of a playground."""
    return addresses if playground is None else addresses.joined(playground.addresses)


def beginning(agent: AgentDefinition, place: Workplace, playground: Playground | None) -> Workplace:
    """Return where an Agent's programs begin in a trial: in their own files, or in its playground
    if the Agent says so.
    """
    if playground is None or not agent.runtime.in_playground:
        return place
    return Workplace(playground.root, (place.folder, *place.reads))


def writable(playground: Playground | None) -> tuple[Path, ...]:
    """Return the folders of a trial's playground that its programs may write."""
    return () if playground is None else (playground.root,)


def in_playground(launch: Launch, addresses: Addresses, playground: Playground | None) -> Launch:
    """Return how a server is started for a trial: beside services, in its playground if any."""
    return replace(
        launch,
        place=beginning(launch.agent, launch.place, playground),
        addresses=told_of(playground, addresses),
        writes=writable(playground),
    )


MAKE = """\
import sqlite3, sys
base = sqlite3.connect(sys.argv[1])
base.executescript(sys.stdin.buffer.read().decode("utf-8-sig"))
base.commit()
base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
base.close()
"""
"""Makes the database that its argument names of the statements on its standard input."""

ASK = """\
import json, sqlite3, sys
path, most = sys.argv[1], int(sys.argv[2])
def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):
        return str(value)
    return value
said = {}
try:
    base = sqlite3.connect(path)
    base.text_factory = lambda data: data.decode("utf-8", "replace")
    base.execute("PRAGMA trusted_schema = OFF")
    base.execute("PRAGMA query_only = ON")
    found = base.execute(sys.stdin.buffer.read().decode("utf-8"))
    rows = found.fetchmany(most + 1)
    said = {"columns": [one[0] for one in found.description or ()],
            "rows": [[plain(value) for value in row] for row in rows[:most]],
            "more": len(rows) > most}
except sqlite3.Error as error:
    said = {"error": str(error), "kind": type(error).__name__}
except sqlite3.Warning as error:
    said = {"error": str(error), "kind": "Warning"}
print(json.dumps(said))
"""
"""Asks the query on its standard input of the database that its first argument names, and prints
one JSON object: columns, so many rows at most, whether there are more; or the error and its kind.
"""

PYTHON = ("python3", "-I", "-S", "-c")
"""How both are started: by the Python that own checks have."""


DATABASE_BYTES = 64 * MIB
ROWS = 1_000
"""Rows that are read of a query's result."""

REPLY_BYTES = MIB
QUERY_SECONDS = 30.0


class StateUnavailable(Exception):
    """The end state was not looked at, through no fault of the candidate: whose, and a clause."""

    def __init__(self, cause: Cause, reason: str) -> None:
        super().__init__(reason)
        self.cause = cause
        self.reason = reason


class EndState:
    """What is left of one playground. All that it gives is a candidate's word."""

    def __init__(
        self,
        playground: Playground,
        services: Mapping[str, Instance],
        helpers: Helpers,
        scratch: Path,
        *,
        sealed: bool = False,
    ) -> None:
        """What a `sealed` one is asked is told to a command alone, which cannot pass it on."""
        self.sealed = sealed
        self._playground = playground
        self._root: Path | None = playground.root
        self._gone: Exception = StateUnreadable("it is gone")
        self._services = services
        self._helpers = helpers
        self._scratch = scratch

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that programs in the playground are started with, beside their own."""
        return self._playground.addresses.variables

    @property
    def root(self) -> Path:
        """The folder that it is in. Raises what `remove` was told once it is gone."""
        if self._root is None:
            raise self._gone
        return self._root

    def keep(self, folder: Path) -> None:
        """Move it to a folder that is not there yet, which outlives its trial. Raises `OSError`."""
        self._services = {}
        self._root = self.root.rename(folder)

    def remove(self, why: StateUnreadable | StateUnavailable) -> None:
        """Give it up; who looks at it from now on is told why."""
        self._services, self._root, self._gone = {}, None, why

    async def look(self, path: str) -> FoundPath | None:
        """Return what stands at a path, None for nothing. Raises `StateUnreadable`."""
        return await asyncio.to_thread(playground_files.look, self.root, path)

    async def content(self, path: str, limit: int) -> bytes | FoundPath | None:
        """Return a file's bytes, or what else stands there. Raises `StateUnreadable`."""
        return await asyncio.to_thread(playground_files.content, self.root, path, limit)

    async def listing(self, path: str, *, deep: bool) -> list[ListedFile] | FoundPath | None:
        """Return what a folder holds, "" for all. Raises `StateUnreadable`."""
        return await asyncio.to_thread(playground_files.listing, self.root, path, deep=deep)

    async def run(self, argv: tuple[str, ...], stdin: bytes, seconds: float) -> Ran:
        """Run a command in a copy of the playground. Raises `StateUnreadable`, `StateUnavailable`.

        It may be a program that the candidate has left there. A sealed one works in an empty folder
        beside the copy, and imports nothing from it.
        """
        if self.sealed:
            self._refuse_what_lies_elsewhere(argv)
        async with self.copied() as copy, private_folders(self._scratch) as private:
            words = tuple(word.replace(PLAYGROUND, str(copy)) for word in argv)
            variables = {**self._playground.addresses.variables, VARIABLE: str(copy)}
            try:
                return await self._helpers.run(
                    words,
                    private,
                    stdin=stdin,
                    seconds=seconds,
                    work=copy,
                    variables=variables,
                    cut_off=self.sealed,
                )
            except NotStarted as error:
                fault = Cause.GATE if error.cause is Cause.GATE else Cause.CHECK
                raise StateUnavailable(fault, error.reason) from None

    def _refuse_what_lies_elsewhere(self, argv: tuple[str, ...]) -> None:
        """Raise `StateUnavailable` where a word names a file that is in the playground alone."""
        for number, word in enumerate(argv):
            path = posixpath.normpath(word)
            named = "/" in word or (number and "." in word.strip("."))
            if not named or word.startswith(("-", "/", PLAYGROUND)) or path.startswith(".."):
                continue
            if playground_files.look(self.root, path) is not None:
                raise StateUnavailable(
                    Cause.CHECK,
                    f"`{shorten(word, 120)}` names a file of the playground, and a sealed command "
                    f"works in an empty folder. Write `{PLAYGROUND}/{shorten(path, 120)}`",
                )

    @contextlib.asynccontextmanager
    async def copied(self) -> AsyncIterator[Path]:
        """Give a copy that a program may change. Raises `StateUnreadable`."""
        copy = await asyncio.to_thread(playground_files.state_copied, self.root, self._scratch)
        try:
            yield copy
        finally:
            await asyncio.to_thread(remove_tree, copy)

    async def query(self, path: str, query: str) -> JsonObject | FoundPath | None:
        """Ask a database in a copy of its file: columns, rows and whether there are `more` than
        `ROWS`, or the `error` and its `kind`. Without a file, say what stands there.

        Raises `StateUnreadable` and `StateUnavailable`.
        """
        data = await self.content(path, DATABASE_BYTES)
        if not isinstance(data, bytes):
            return data
        async with private_folders(self._scratch) as private:
            copy = private.home / "state.db"
            copy.write_bytes(data)
            for suffix in ("-wal", "-journal"):
                more = await self.content(path + suffix, DATABASE_BYTES)
                if isinstance(more, bytes):
                    (private.home / f"state.db{suffix}").write_bytes(more)
            argv = (*PYTHON, ASK, str(copy), str(ROWS))
            stdin, sealed = query.encode(), self.sealed
            try:
                ran = await self._helpers.run(
                    argv, private, stdin=stdin, seconds=QUERY_SECONDS, cut_off=sealed
                )
            except NotStarted as error:
                raise StateUnavailable(Cause.GATE, error.reason) from None
        return _answer(ran)

    async def ask(self, service: str, request: LocalRequest, seconds: float) -> LocalReply:
        """Ask a service, which was started for this trial. Raises `StateUnavailable`. One that has
        ended is not asked: by now its port may be another program's.
        """
        at = self._services.get(service)
        if at is None:
            raise StateUnavailable(Cause.CHECK, f"the playground has no service `{service}`")
        if at.dead:
            raise StateUnavailable(Cause.CHECK, f"the service `{service}` ended during the trial")
        try:
            return await at.ask(request, seconds=seconds, limit=REPLY_BYTES)
        except LocalHttpError as error:
            raise StateUnavailable(
                Cause.CHECK, f"the service `{service}` {error.message}"
            ) from None


def _answer(ran: Ran) -> JsonObject:
    """Read what was printed by `ASK`, which reads a file that may be made to break it."""
    failed = failure("SQLite", ran, PYTHON, limits(QUERY_SECONDS))
    if failed is not None:
        raise StateUnreadable(f"the database could not be asked: {failed.reason}")
    try:
        said = read_json(ran.stdout.decode("utf-8", "replace"))
    except NotStrictJson:
        said = None
    if not isinstance(said, dict):
        raise StateUnreadable(f"the database gave no rows: {json.dumps(said)[:200]}")
    return said


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
        begins = lent = work or private.home
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


def limits(seconds: float) -> ProgramLimits:
    """Return the limits of such a program."""
    return ProgramLimits(
        seconds=seconds,
        grace_seconds=_GRACE_SECONDS,
        stdout_kept=OUTPUT_BYTES,
        stdout_bytes=OUTPUT_BYTES,
        stderr_bytes=OUTPUT_BYTES,
    )
