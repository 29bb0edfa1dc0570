"""Judges that are asked in batches: where what was sent is kept, and who may be asked so."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from gateval.adapters.folders import made_folder, write_over
from gateval.adapters.results_folder import PARENTS
from gateval.domain.base import digest
from gateval.domain.calibration import Binding
from gateval.domain.manifests.evaluation import script_name
from gateval.domain.text import listing
from gateval.domain.trials.model_call import BatchBook
from gateval.errors import UsageError
from gateval.gateway.batches import BatchedCalls, BatchNotes
from gateval.gateway.door import Gateway
from gateval.gateway.upstream.http_client import HttpClient, Timeouts
from gateval.ports.model_calls import ModelCalls
from gateval.settings import Settings
from gateval.wire.batches import BATCH_FORMATS

_LIMIT = 64 * 1024 * 1024
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def refuse_unbatched(models: Iterable[str]) -> None:
    """Raise `UsageError` for a model whose provider takes no batches that we know."""
    others = [
        one for one in models if script_name(one) is None and _provider(one) not in BATCH_FORMATS
    ]
    if others:
        raise UsageError(
            f"--batch asks {' and '.join(BATCH_FORMATS)} alone, and not {listing(sorted(others))}.",
            hint="Leave --batch out, or name their models alone.",
        )


def _provider(model: str) -> str:
    return model.partition("/")[0]


class BatchFile:
    """Fulfils `BatchNotes` with a file of this clone, by what a command asks.

    A change may bring such a file. It holds ids and no answers: these come from the provider, for
    questions that are known by what they say.
    """

    def __init__(self, root: Path, bindings: Sequence[Binding], *, compared: bool) -> None:
        asked = digest([compared, *sorted(one.digest for one in bindings)])
        self._unanswered = 0
        self._root, self._path = root, "/".join((*PARENTS, f"batches-{asked[-16:]}.json"))
        self._held: int | None = None

    @property
    def shown(self) -> str:
        """Fulfil `BatchNotes.shown`."""
        return self._path

    def read(self) -> BatchBook:
        """Fulfil `BatchNotes.read`."""
        place = self._root / self._path
        if any(one.is_symlink() for one in (place, *list(place.parents)[: len(PARENTS)])):
            raise UsageError(f"{self._path} is a link, or lies behind one.", hint="Remove it.")
        self._hold()
        try:
            with place.open("rb") as file:
                return BatchBook.model_validate_json(file.read(_LIMIT))
        except FileNotFoundError:
            return BatchBook()
        except (OSError, ValidationError) as error:
            raise UsageError(
                f"{self._path} could not be read, so it is not known what was sent.",
                hint="Look at the provider's list of batches, then remove it.",
            ) from error

    def _hold(self) -> None:
        """Let no other process write the file until this one ends: each would keep only its own."""
        name = f"{self._path.rpartition('/')[2]}.lock"
        try:
            with made_folder(self._root, self._root.resolve().joinpath(*PARENTS)) as folder:
                self._held = self._held or os.open(name, _LOCK, 0o600, dir_fd=folder)
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                "The same command is under way in this clone.",
                hint="Await its end; or end it, and give the command again: it goes on then.",
            ) from None
        except OSError as error:
            raise UsageError(f"{self._path} could not be locked: {error.strerror}.") from error

    def keep(self, book: BatchBook) -> None:
        """Fulfil `BatchNotes.keep`."""
        write_over(self._root, self._path, book.model_dump_json(indent=2) + "\n")

    def lost(self, questions: int) -> None:
        """Fulfil `BatchNotes.lost`."""
        self._unanswered += questions

    def settle(self) -> None:
        """Once results are written: forget the batches, or say what may be asked again."""
        if not self._unanswered:
            for name in (self._path, f"{self._path}.lock"):
                (self._root / name).unlink(missing_ok=True)
            return
        print(
            f"gateval: {self._unanswered} questions got no answer and are not measured. The same "
            "command asks these again, and takes all other answers from the batches that are paid.",
            file=sys.stderr,
        )


@asynccontextmanager
async def asked_by(
    gateway: Gateway, settings: Settings, notes: BatchNotes | None, *, goes_on: bool = False
) -> AsyncIterator[ModelCalls]:
    """Give who asks: the gateway, or with `notes` batches, which say on standard error how they
    stand. `goes_on` as for `BatchedCalls`.
    """
    if notes is None:
        yield gateway
        return
    client = HttpClient(Timeouts(), settings.ca_file)
    tell = partial(print, "gateval:", file=sys.stderr)
    calls = BatchedCalls(gateway, client, notes, tell, goes_on=goes_on)
    async with calls:
        yield calls
