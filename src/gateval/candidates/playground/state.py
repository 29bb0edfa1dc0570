"""The end state of a trial's playground: what assertions may ask about it.

Its candidate is gone by then, with all its processes, so nobody changes it meanwhile; its services
live on, for they are asked what they hold. A command works in a copy, so that no assertion sees
what another one did.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import posixpath
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.playground import copies, databases, reading
from gateval.candidates.playground.reading import Found, ListedFile, Unreadable
from gateval.candidates.process.failures import failure
from gateval.candidates.process.private import private_folders, remove_tree
from gateval.candidates.process.program import MIB, NotStarted, Ran
from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixtures.playground import PLAYGROUND, VARIABLE
from gateval.domain.text.strict_json import NotStrictJson, read_json
from gateval.domain.trials.trial import Cause
from gateval.judging.neutral import shorten
from gateval.ports.local_http import LocalHttpError, LocalReply, LocalRequest

if TYPE_CHECKING:
    from gateval.candidates.beside.addresses import Playground
    from gateval.candidates.playground.programs import Helpers
    from gateval.candidates.serving.instance import Instance

DATABASE_BYTES = 64 * MIB
ROWS = 1_000
"""Rows that are read of a query's result."""

REPLY_BYTES = MIB
QUERY_SECONDS = 30.0


class NotLookedAt(Exception):
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
        self._gone: Exception = Unreadable("it is gone")
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

    def remove(self, why: Unreadable | NotLookedAt) -> None:
        """Give it up; who looks at it from now on is told why."""
        self._services, self._root, self._gone = {}, None, why

    async def look(self, path: str) -> Found | None:
        """Return what stands at a path, None for nothing. Raises `Unreadable`."""
        return await asyncio.to_thread(reading.look, self.root, path)

    async def content(self, path: str, limit: int) -> bytes | Found | None:
        """Return a file's bytes, or what else stands there. Raises `Unreadable`."""
        return await asyncio.to_thread(reading.content, self.root, path, limit)

    async def listing(self, path: str, *, deep: bool) -> list[ListedFile] | Found | None:
        """Return what a folder holds, "" for all. Raises `Unreadable`."""
        return await asyncio.to_thread(reading.listing, self.root, path, deep=deep)

    async def run(self, argv: tuple[str, ...], stdin: bytes, seconds: float) -> Ran:
        """Run a command in a copy of the playground. Raises `Unreadable` and `NotLookedAt`.

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
                raise NotLookedAt(_fault(error.cause), error.reason) from None

    def _refuse_what_lies_elsewhere(self, argv: tuple[str, ...]) -> None:
        """Raise `NotLookedAt` where a word names a file that is in the playground alone."""
        for number, word in enumerate(argv):
            path = posixpath.normpath(word)
            named = "/" in word or (number and "." in word.strip("."))
            if not named or word.startswith(("-", "/", PLAYGROUND)) or path.startswith(".."):
                continue
            if reading.look(self.root, path) is not None:
                raise NotLookedAt(
                    Cause.CHECK,
                    f"`{shorten(word, 120)}` names a file of the playground, and a sealed command "
                    f"works in an empty folder. Write `{PLAYGROUND}/{shorten(path, 120)}`",
                )

    @contextlib.asynccontextmanager
    async def copied(self) -> AsyncIterator[Path]:
        """Give a copy that a program may change. Raises `Unreadable`."""
        copy = await asyncio.to_thread(copies.state_copied, self.root, self._scratch)
        try:
            yield copy
        finally:
            await asyncio.to_thread(remove_tree, copy)

    async def query(self, path: str, query: str) -> JsonObject | Found | None:
        """Ask a database in a copy of its file: columns, rows and whether there are `more` than
        `ROWS`, or the `error` and its `kind`. Without a file, say what stands there.

        Raises `Unreadable` and `NotLookedAt`.
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
            argv = (*databases.PYTHON, databases.ASK, str(copy), str(ROWS))
            try:
                ran = await self._helpers.run(
                    argv,
                    private,
                    stdin=query.encode(),
                    seconds=QUERY_SECONDS,
                    cut_off=self.sealed,
                )
            except NotStarted as error:
                raise NotLookedAt(Cause.GATE, error.reason) from None
        return _answer(ran)

    async def ask(self, service: str, request: LocalRequest, seconds: float) -> LocalReply:
        """Ask a service, which was started for this trial. Raises `NotLookedAt`.

        One that has ended is not asked: by now its port may be another program's.
        """
        at = self._services.get(service)
        if at is None:
            raise NotLookedAt(Cause.CHECK, f"the playground has no service `{service}`")
        if at.dead:
            raise NotLookedAt(Cause.CHECK, f"the service `{service}` ended during the trial")
        try:
            return await at.ask(request, seconds=seconds, limit=REPLY_BYTES)
        except LocalHttpError as error:
            raise NotLookedAt(Cause.CHECK, f"the service `{service}` {error.message}") from None


def _answer(ran: Ran) -> JsonObject:
    """Read what was printed by `databases.ASK`, which reads a file that may be made to break it."""
    from gateval.candidates.playground.programs import limits

    failed = failure("SQLite", ran, databases.PYTHON, limits(QUERY_SECONDS))
    if failed is not None:
        raise Unreadable(f"the database could not be asked: {failed.reason}")
    try:
        said = read_json(ran.stdout.decode("utf-8", "replace"))
    except NotStrictJson:
        said = None
    if not isinstance(said, dict):
        raise Unreadable(f"the database gave no rows: {json.dumps(said)[:200]}")
    return said


def _fault(cause: Cause) -> Cause:
    return Cause.GATE if cause is Cause.GATE else Cause.CHECK
