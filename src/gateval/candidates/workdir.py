"""A copy of an Agent's files that one trial, or one server, may write (`runtime.workdir: copy`).

It lies in the private folder of that trial and is gone with it. Links are copied as links, so what
a layer made stays where it is, and nothing outside is read; each file of the copy is its own, also
where a set-up has given one several names. How much there is, is counted before anything is
copied: by its length, since a file with holes takes no room and fills a disk once it is written.
"""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateval.candidates.playground_files import NotCopied, copy_into
from gateval.candidates.program import PrivateFolders
from gateval.domain.paths import show_path
from gateval.domain.trials.trial import Cause, NoAnswer

if TYPE_CHECKING:
    from gateval.candidates.base import RuntimeContext
    from gateval.candidates.preparing import Workplace

MOST_BYTES = 200_000_000
MOST_ENTRIES = 50_000

_LESS = (
    "Let `watch` or `cwd` leave out what the agent does not need, or have a set-up with `creates` "
    "make it: that is linked, not copied."
)


def copy_refusal(root: Path) -> str:
    """Return why what is in this folder is not copied, as a sentence; empty if it is."""
    size = entries = 0
    todo = [str(root)]
    while todo:
        with os.scandir(todo.pop()) as found:
            for entry in found:
                state = entry.stat(follow_symlinks=False)
                kind, entries = state.st_mode, entries + 1
                if stat.S_ISDIR(kind):
                    todo.append(entry.path)
                elif stat.S_ISREG(kind):
                    size += state.st_size
                elif not stat.S_ISLNK(kind):
                    shown = show_path(os.path.relpath(entry.path, root))
                    return (
                        f"`{shown}`, which its set-up made, is no file, folder or link, so that "
                        "`runtime.workdir: copy` cannot copy it. Have the set-up leave none."
                    )
        if size > MOST_BYTES or entries > MOST_ENTRIES:
            what = "200 MB" if size > MOST_BYTES else f"{MOST_ENTRIES:,} files"
            return f"Its files are more than {what}, which `runtime.workdir: copy` copies. {_LESS}"
    return ""


async def copyable(place: Workplace, context: RuntimeContext) -> NoAnswer | None:
    """Return why the files of a working place are not copied, None if they are; looked at once."""

    async def look() -> NoAnswer | None:
        try:
            refusal = await asyncio.to_thread(copy_refusal, place.root)
        except OSError as error:
            refusal = f"Its files cannot be looked through: {error.strerror}."
        return NoAnswer(cause=Cause.CANDIDATE, reason=refusal, repeats=True) if refusal else None

    return await context.setups.get(("copied", place.root), look)


async def working_copy(place: Workplace, private: PrivateFolders) -> Workplace | NoAnswer:
    """Return the same place in a fresh copy; the first is still to be read, for what names it."""
    root = private.workdir
    try:
        root.mkdir(mode=0o700)
        await asyncio.to_thread(copy_into, place.root, root)
    except (NotCopied, OSError) as error:
        reason = f"The files of the agent were not copied for it to write: {error}."
        return NoAnswer(cause=Cause.GATE, reason=reason)
    folder = root / place.folder.relative_to(place.root)
    return replace(place, folder=folder, root=root, reads=(place.root, *place.reads))
