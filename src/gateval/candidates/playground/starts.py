"""What playgrounds start with, at the revision of their fixtures: exported and made once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gateval.candidates.checks import CheckExports
from gateval.candidates.playground import databases, reading, templates
from gateval.candidates.playground.programs import Helpers, limits
from gateval.candidates.playground.state import DATABASE_BYTES
from gateval.candidates.playground.templates import NotMade, Templates
from gateval.candidates.process.failures import failure
from gateval.candidates.process.once import Once
from gateval.candidates.process.private import private_folders
from gateval.candidates.process.program import NotStarted
from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import CheckFiles, Fixture
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.domain.plan.plan import Revision
from gateval.domain.trials.trial import Cause, NoAnswer
from gateval.errors import RepositoryError

SCRIPT_SECONDS = 60.0
"""How long the statements may take that make a database."""

_NO_LINKS: Mapping[str, Path] = {}


class WantedStart(NamedTuple):
    """A playground, and whence its files are."""

    spec: PlaygroundSpec
    folder: str
    files: CheckFiles
    revision: Revision

    @classmethod
    def of(cls, fixture: Fixture, revision: Revision | None) -> WantedStart:
        """Return what a fixture wants. Raises `CannotStart` where the plan lacks something."""
        if fixture.playground is None or fixture.ground is None or revision is None:
            reason = "The plan does not say which files it has, or at which revision."
            raise CannotStart(NoAnswer(cause=Cause.GATE, reason=reason))
        return cls(fixture.playground, fixture.folder, fixture.ground, revision)


class CannotStart(Exception):
    """A playground cannot be made: why, and what was printed."""

    def __init__(self, silence: NoAnswer) -> None:
        super().__init__(silence.reason)
        self.silence = silence


class Starts:
    """Remembers the folders that are copied, and what could not be made."""

    def __init__(self, exports: CheckExports, helpers: Helpers, scratch: Path) -> None:
        self._exports = exports
        self._helpers = helpers
        self._scratch = scratch
        self._made: Once[Templates | NoAnswer] = Once()

    async def of(self, wanted: WantedStart) -> Templates:
        """Return the folders to copy for a playground. Raises `CannotStart`."""
        written = canonical_json(wanted.spec.model_dump(mode="json"))
        key = (wanted.revision.tree, wanted.folder, wanted.files.digest, written)
        found = await self._made.get(key, lambda: self._put_together(wanted))
        if isinstance(found, NoAnswer):
            raise CannotStart(found)
        return found

    async def _put_together(self, wanted: WantedStart) -> Templates | NoAnswer:
        spec, folder = wanted.spec, wanted.folder
        try:
            export = await self._exports.check_folder(wanted.files, wanted.revision, _NO_LINKS)
            found = await asyncio.to_thread(
                templates.put_together, spec, folder, export, self._scratch
            )
            if spec.sqlite is not None and spec.sqlite.is_script:
                script = templates.source_of(spec, folder, export).read_bytes()
                data = await self._database(script)
                templates.free_place(found.root, spec.sqlite.name).write_bytes(data)
        except CannotStart as error:
            return error.silence
        except RepositoryError as error:
            return NoAnswer(cause=Cause.GATE, reason=error.sentence)
        except (NotMade, OSError) as error:
            return NoAnswer(cause=Cause.CHECK, reason=str(error))
        return found

    async def _database(self, script: bytes) -> bytes:
        """Return the database that these statements make. Raises `CannotStart`, `NotMade`."""
        argv = (*databases.PYTHON, databases.MAKE, "made.db")
        async with private_folders(self._scratch) as private:
            try:
                ran = await self._helpers.run(argv, private, stdin=script, seconds=SCRIPT_SECONDS)
            except NotStarted as error:
                raise CannotStart(NoAnswer(cause=Cause.GATE, reason=error.reason)) from None
            what = "What makes the database"
            failed = failure(what, ran, argv[:1], limits(SCRIPT_SECONDS))
            if failed is not None:
                raise CannotStart(failed)
            try:
                data = reading.content(private.home, "made.db", DATABASE_BYTES)
            except reading.Unreadable as error:
                raise NotMade(f"The database cannot be used: {error}.") from None
        if not isinstance(data, bytes):
            raise NotMade("The statements made no database.")
        return data
