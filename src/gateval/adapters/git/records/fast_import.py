"""Makes one commit that sets one file, in one git process, without index or working tree.

Format of the stream: https://git-scm.com/docs/git-fast-import.
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from gateval.adapters.git.run import Git
from gateval.ports.records import Edit

_MADE = "refs/gateval/made"
_AS_A_PACK = "fastimport.unpackLimit=0"
"""Without it, git starts another process that takes the pack apart."""


class Author(NamedTuple):
    """Who makes the commits. Nobody reads mail to the default address."""

    name: str = "Gateval"
    email: str = "gateval@noreply.invalid"


NOBODY = Author()


def write_commit(git: Git, path: str, edit: Edit, *, parent: str | None, author: Author) -> str:
    """Return the id of a new commit with `edit.content` at `path`.

    The other files are those of `parent`; without one there are none. Raises `RepositoryError`.
    """
    who = f"{_plain(author.name)} <{_plain(author.email)}> {int(time.time())} +0000"
    lines = [
        b"commit " + _MADE.encode(),
        b"mark :1",
        b"committer " + who.encode(),
        _data(edit.message.encode("utf-8", "replace")),
        *([b"from " + parent.encode()] if parent else []),
        b"M 100644 inline " + path.encode(),
        _data(edit.content),
        b"get-mark :1",
        b"done",
    ]
    stream = b"\n".join(lines) + b"\n"
    options = ("--quiet", "--force", "--done")
    answer = git.run("fast-import", *options, stdin=stream, config=(_AS_A_PACK,))
    return answer.out.decode().strip()


def _data(content: bytes) -> bytes:
    return b"data %d\n%b" % (len(content), content)


def _plain(text: str) -> str:
    return re.sub(r"[<>\x00-\x1f\x7f]", " ", text).strip() or "Gateval"
