"""Whether git has anything at a place of the working tree."""

from __future__ import annotations

import os
from pathlib import PurePath

from gateval.adapters.git.run import Git


def tracks(git: Git, folder: PurePath) -> bool:
    """Whether the index holds a file below `folder`, or something in its place or a parent's.

    `folder` is relative to the working tree's root.
    """
    listed = git.run("ls-files", "-z", "--", f":(literal){folder.parts[0]}").out
    place = os.fsencode(folder)
    above = {os.fsencode(one) for one in (folder, *folder.parents)}
    return any(path in above or path.startswith(place + b"/") for path in listed.split(b"\0"))
