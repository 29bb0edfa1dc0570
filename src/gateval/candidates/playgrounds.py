"""Playgrounds: what they start with, made for each trial that wants one, and what waits of them.

The files are a pull request's, so a link among them may lead anywhere: nothing is written over one.

They lie in a folder of the gate's own beside the run's: no candidate may go there, what ends
candidates does not remove it, and it outlives a gate that is killed. Then a record in it says of
which trials they are, and a later run removes it when a day has passed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

from gateval.candidates import playground_files, playground_state
from gateval.candidates.base import Addresses, Playground, RuntimeContext
from gateval.candidates.checks import CheckExports
from gateval.candidates.environment import candidate_environment
from gateval.candidates.failures import failure, from_the_export
from gateval.candidates.once import Once
from gateval.candidates.playground_files import (
    NotCopied,
    StateUnreadable,
    copied,
    copy_into,
    listing,
)
from gateval.candidates.playground_state import (
    DATABASE_BYTES,
    EndState,
    Helpers,
    StateUnavailable,
    limits,
)
from gateval.candidates.preparing import Workplace
from gateval.candidates.processes import Programs
from gateval.candidates.program import MIB, NotStarted, private_folders, remove_tree
from gateval.candidates.server import Instance, Launch, start_instance
from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import CheckFiles, Fixture
from gateval.domain.manifests.playground import PlaygroundService, PlaygroundSpec
from gateval.domain.paths import match_any, resolve_path, resolve_pattern, show_path
from gateval.domain.plan.plan import AgentDefinition, Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.tree import Revision, under
from gateval.domain.trials.trial import Cause, NoAnswer, TrialKey
from gateval.errors import RepositoryError


class Templates(NamedTuple):
    """Folders to copy: what the candidate starts with, and services with a folder of their own."""

    spec: PlaygroundSpec
    root: Path
    services: dict[str, Path]


class CannotStart(Exception):
    """A playground cannot be made: why, and what was printed."""

    def __init__(self, silence: NoAnswer) -> None:
        super().__init__(silence.reason)
        self.silence = silence


def _unavailable(reason: str) -> CannotStart:
    return CannotStart(NoAnswer(cause=Cause.CHECK, reason=reason))


def put_together(spec: PlaygroundSpec, folder: str, export: Path, scratch: Path) -> Templates:
    """Copy from `export`, the files at the fixture's revision, what its playgrounds start with.

    `folder` is the manifest's. An SQLite database that is there as it is comes too; one that
    statements make does not. Raises `CannotStart`.
    """
    root = Path(tempfile.mkdtemp(prefix="start-", dir=scratch))
    if spec.folder is not None:
        _copy(export, resolve_path(folder, spec.folder), root)
    for source, target in _further(spec, folder, export):
        shutil.copy2(export / source, free_place(root, target), follow_symlinks=False)
    if spec.sqlite is not None and not spec.sqlite.is_script:
        database = source_of(spec, folder, export)
        shutil.copyfile(database, free_place(root, spec.sqlite.name), follow_symlinks=False)
    services = {}
    for service in spec.services:
        if service.folder is not None:
            services[service.name] = Path(tempfile.mkdtemp(prefix="start-", dir=scratch))
            _copy(export, resolve_path(folder, service.folder), services[service.name])
    return Templates(spec, root, services)


def source_of(spec: PlaygroundSpec, folder: str, export: Path) -> Path:
    """Return the database's file. Raises `CannotStart` where it is none."""
    written = spec.sqlite.source if spec.sqlite else ""
    source = export / (resolve_path(folder, written) or ".")
    above = str(source.parent.relative_to(export)) if source != export else "."
    plain = above == "." or _is_plain_folder(export, above)
    if source.is_symlink() or not plain or not source.is_file():
        raise _unavailable(f"{show_path(written)} is no file of its revision.")
    return source


def free_place(root: Path, path: str) -> Path:
    """Return where to write a file, its folders made. Raises `CannotStart`."""
    target = root / path
    for step in reversed(target.relative_to(root).parents):
        above = root / step
        if above.is_symlink() or (above.exists() and not above.is_dir()):
            shown = show_path(str(step))
            raise _unavailable(f"{show_path(path)} cannot be put there: {shown} is no folder.")
        above.mkdir(exist_ok=True)
    if os.path.lexists(target):
        raise _unavailable(f"{show_path(path)} stands in the playground twice.")
    return target


def _copy(export: Path, path: str | None, target: Path) -> None:
    source = export / (path or "")
    if path is None or not _is_plain_folder(export, path):
        raise _unavailable(f"{show_path(path or '')} is no folder of its revision.")
    try:
        copy_into(source, target)
    except NotCopied as error:
        raise _unavailable(f"{show_path(path)}: {error}.") from None


def _is_plain_folder(export: Path, path: str) -> bool:
    steps = [export / path, *list((export / path).parents)[: path.count("/")]]
    return all(step.is_dir() and not step.is_symlink() for step in steps)


def _further(spec: PlaygroundSpec, folder: str, export: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths in the export that `files` names, and where they stand in the playground."""
    named = [resolve_pattern(folder, one) for one in spec.files]
    wanted = [one for one in named if one is not None]
    if not wanted:
        return
    matches, roots = match_any(wanted), frozenset(wanted)
    for above, folders, files in os.walk(export):
        links = [name for name in folders if (Path(above) / name).is_symlink()]
        for name in (*files, *links):
            path = str((Path(above) / name).relative_to(export))
            if under(path, roots) or matches(path):
                yield path, path.removeprefix(f"{folder}/") if folder else path


SCRIPT_SECONDS = 60.0
"""How long the statements may take that make a database."""


WAITING_BYTES = 1024 * MIB
"""Of all end states that wait; beyond it no further trial begins until they are through."""

RECORD = "waiting.json"
PREFIX = "gateval-waiting-"
LEFT_SECONDS = 86_400
"""How long the folder of a run that was killed is left alone."""

_BLOCK = 4096


class WaitingStates:
    """Those of one run. Its folder is there from the first on, and goes with `close`."""

    def __init__(self, run: str, scratch: Path, limit: int = WAITING_BYTES) -> None:
        """`scratch` is the run's folder, beside which they wait, for `limit` bytes in all."""
        self._run = run
        self._beside = scratch.parent
        self._limit = limit
        self._folder: Path | None = None
        self._held: int | None = None
        self._kept: dict[TrialKey, tuple[Path, int]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether those that wait have to be through before another trial begins."""
        return sum(size for _, size in self._kept.values()) >= self._limit

    async def keep(self, key: TrialKey, state: EndState) -> None:
        """Have a trial's end state wait. One that cannot says why when it is looked at."""
        try:
            size = await asyncio.to_thread(_size, state.root, self._limit)
            folder = self._opened()
            self._count += 1
            state.keep(folder / str(self._count))
            self._kept[key] = (state.root, size)
            self._record(folder)
        except StateUnreadable as error:
            state.remove(error)
        except OSError as error:
            state.remove(StateUnavailable(Cause.GATE, f"the end state could not be kept: {error}"))

    async def remove(self, key: TrialKey) -> None:
        """Let go of a trial's end state, which nobody looks at any more."""
        found = self._kept.pop(key, None)
        if found is not None and self._folder is not None:
            await asyncio.to_thread(remove_tree, found[0])
            self._record(self._folder)

    def close(self) -> None:
        """Remove all of it."""
        if self._folder is not None:
            remove_tree(self._folder)
        if self._held is not None:
            os.close(self._held)
        self._folder = self._held = None

    def _opened(self) -> Path:
        if self._folder is None:
            for left in _left_behind(self._beside):
                remove_tree(left)
            self._folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self._beside))
            self._held = _locked(self._folder)
        return self._folder

    def _record(self, folder: Path) -> None:
        """Write down of which trials they are, for who finds it when the run was killed."""
        trials = [
            {**asdict(key), "folder": at.name, "bytes": size}
            for key, (at, size) in self._kept.items()
        ]
        fresh = folder / f"{RECORD}.new"
        fresh.write_text(json.dumps({"version": 1, "run": self._run, "trials": trials}))
        fresh.replace(folder / RECORD)


def _size(root: Path, limit: int) -> int:
    """Return what an end state takes on a disk. Raises `StateUnreadable`, also beyond the limit."""
    found = listing(root)
    size = sum(one.found.size + _BLOCK for one in found) if isinstance(found, list) else 0
    if size > limit:
        raise StateUnreadable(f"its files have {size:,} bytes, and {limit:,} may wait")
    return size


def _left_behind(beside: Path) -> Iterator[Path]:
    """Yield the folders of our user's runs that were killed more than a day ago."""
    for folder in beside.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            seen = folder.lstat()
            if seen.st_uid == os.geteuid() and seen.st_mtime < time.time() - LEFT_SECONDS:
                os.close(_locked(folder))
                yield folder


def _locked(folder: Path) -> int:
    """Hold a folder until this process ends. Raises `OSError` where another one does."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


class ReadyPlayground(NamedTuple):
    """A playground for the candidate, and its end state for assertions."""

    playground: Playground
    state: EndState


class Playgrounds:
    """Makes them. Use it as `async with Playgrounds(...) as playgrounds`."""

    def __init__(self, context: RuntimeContext, plan: Plan, exports: CheckExports) -> None:
        """`exports` gives the files. Of `context.environ`, what the policy passes to candidates
        alone is not given to what runs in a playground.
        """
        self._context = replace(context, environ=candidate_environment(context.environ))
        self._plan = plan
        self._programs = Programs(context.clock, context.starter)
        self._name = f"playground-{context.run}"
        self._helpers = Helpers(self._programs, self._context.environ, self._name)
        self._exports = exports
        self._starts: Once[Templates | NoAnswer] = Once()
        self.waiting = WaitingStates(context.run, context.scratch)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._programs.close()
        finally:
            self.waiting.close()

    @contextlib.asynccontextmanager
    async def opened(
        self, agent: AgentDefinition, planned: PlannedEval, fixture: Fixture
    ) -> AsyncIterator[ReadyPlayground | NoAnswer]:
        """Give a fresh playground for a trial of this fixture, which has one, or why there is none.

        Its files are head's, or the target branch's where that is the bar, on both sides alike.
        It is no fault of a candidate if it cannot be made.
        """
        revision = self._plan.base_tip if planned.bar else self._plan.head
        async with contextlib.AsyncExitStack() as stack:
            made: ReadyPlayground | NoAnswer
            try:
                start = await self._start(fixture, revision)
                made = await self._made(start, agent, stack, sealed=planned.sealed)
            except CannotStart as error:
                made = self._not_made(error.silence)
            except (NotCopied, OSError) as error:
                made = self._not_made(NoAnswer(cause=Cause.GATE, reason=str(error)))
            yield made

    async def _start(self, fixture: Fixture, revision: Revision | None) -> Templates:
        """Return the folders to copy for a fixture's playground, put together once, as is what
        could not be. Raises `CannotStart`.
        """
        spec, files = fixture.playground, fixture.ground
        if spec is None or files is None or revision is None:
            reason = "The plan does not say which files it has, or at which revision."
            raise CannotStart(NoAnswer(cause=Cause.GATE, reason=reason))
        written = canonical_json(spec.model_dump(mode="json"))
        key = (revision.tree, fixture.folder, files.digest, written)
        make = partial(self._put_together, spec, fixture.folder, files, revision)
        found = await self._starts.get(key, make)
        if isinstance(found, NoAnswer):
            raise CannotStart(found)
        return found

    async def _put_together(
        self, spec: PlaygroundSpec, folder: str, files: CheckFiles, revision: Revision
    ) -> Templates | NoAnswer:
        try:
            export = await self._exports.check_folder(files, revision, {})
            scratch = self._context.scratch
            found = await asyncio.to_thread(put_together, spec, folder, export, scratch)
            if spec.sqlite is not None and spec.sqlite.is_script:
                data = await self._database(source_of(spec, folder, export).read_bytes())
                free_place(found.root, spec.sqlite.name).write_bytes(data)
        except CannotStart as error:
            return error.silence
        except RepositoryError as error:
            return NoAnswer(cause=Cause.GATE, reason=error.sentence)
        except OSError as error:
            return NoAnswer(cause=Cause.CHECK, reason=str(error))
        return found

    async def _database(self, script: bytes) -> bytes:
        """Return a database by statements. Raises `CannotStart`."""
        argv = (*playground_state.PYTHON, playground_state.MAKE, "made.db")
        async with private_folders(self._context.scratch) as private:
            try:
                ran = await self._helpers.run(argv, private, stdin=script, seconds=SCRIPT_SECONDS)
            except NotStarted as error:
                raise CannotStart(NoAnswer(cause=Cause.GATE, reason=error.reason)) from None
            what = "What makes the database"
            failed = failure(what, ran, argv[:1], limits(SCRIPT_SECONDS))
            if failed is not None:
                raise CannotStart(failed)
            try:
                data = playground_files.content(private.home, "made.db", DATABASE_BYTES)
            except StateUnreadable as error:
                raise _unavailable(f"The database cannot be used: {error}.") from None
        if not isinstance(data, bytes):
            raise _unavailable("The statements made no database.")
        return data

    async def _made(
        self,
        start: Templates,
        agent: AgentDefinition,
        stack: contextlib.AsyncExitStack,
        *,
        sealed: bool,
    ) -> ReadyPlayground:
        context = self._context
        root = await self._copy(start.root, stack)
        at = Addresses().inside(str(root), start.spec.env)
        served: dict[str, Instance] = {}
        for service in start.spec.services:
            work = await self._copy(start.services.get(service.name, start.root), stack)
            started = await self._started(service, agent, work, at)
            stack.push_async_callback(started.stop)
            served[service.name] = started
            at = at.beside(service, started.host, started.port)
        playground = Playground(root, at)
        state = EndState(playground, served, self._helpers, context.scratch, sealed=sealed)
        return ReadyPlayground(playground, state)

    async def _copy(self, source: Path, stack: contextlib.AsyncExitStack) -> Path:
        copy = await asyncio.to_thread(copied, source, self._context.scratch)
        stack.push_async_callback(asyncio.to_thread, remove_tree, copy)
        return copy

    async def _started(
        self, service: PlaygroundService, agent: AgentDefinition, work: Path, at: Addresses
    ) -> Instance:
        """Start a service in a folder of its own, beside others. Raises `CannotStart`."""
        launch = Launch(
            agent,
            self._context,
            self._programs,
            Workplace(work),
            self._name,
            service.command,
            service.env,
            service.ready,
            what=f"The service `{service.name}` of the playground",
            key="spec.playground.services",
            asks_models=False,
            addresses=at.inside(str(work), {}),
            writes=(work,),
        )
        started = await start_instance(launch)
        if isinstance(started, NoAnswer):
            raise CannotStart(started)
        return started

    def _not_made(self, silence: NoAnswer) -> NoAnswer:
        """Return why there is no playground; no candidate is to blame."""
        told = from_the_export(silence, self._context.scratch)
        cause = Cause.GATE if told.cause is Cause.GATE else Cause.CHECK
        reason = f"The playground could not be made. {told.reason}"
        return told.model_copy(update={"cause": cause, "reason": reason, "timed_out": False})
