"""Sealed manifests: encrypted files in the repository, which only who holds a key can read.

The first line of what is encrypted names the file, so that one sealed file is never taken for
another, and holds a salt: digests of what is sealed are published, and without a salt anybody could
try guesses against them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SUFFIXES = (".yaml.age", ".yml.age")
"""How the name of a sealed file of manifests ends."""

_FIRST_LINE = re.compile(rb"# gateval sealed v1 ([0-9a-f]{32}) ([^\r\n]+)\n")

SEALED_PROBLEM = (
    "Something is wrong here in what is sealed; the words stay sealed. Whoever has the key opens "
    "the file with `gateval unseal`; `gateval seal` says what it is, or `gateval validate` with "
    "the plain file in its place."
)

SEALED_WARNING = (
    "Something here in what is sealed is allowed, but hardly meant; the words stay sealed. Whoever "
    "has the key unseals the file, and `gateval validate` tells while it lies there plainly."
)


class SealedContent(NamedTuple):
    """What a sealed file holds: its own path from the root, 32 hex digits of salt, the manifests.

    `text` is None where the first line is not as `gateval seal` writes it.
    """

    path: str
    salt: str
    text: bytes | None


def is_sealed(path: str) -> bool:
    """Whether a file of manifests is sealed, by its path; as people are shown it, too."""
    return path.removesuffix('"').endswith(SUFFIXES)


def with_first_line(path: str, salt: str, text: bytes) -> bytes:
    """Return what is encrypted: manifests (`text`) for the sealed file `path`."""
    return f"# gateval sealed v1 {salt} {path}\n".encode() + text


def without_first_line(content: bytes) -> SealedContent:
    """Return what `with_first_line` put together; lines count as in the manifests themselves."""
    found = _FIRST_LINE.match(content)
    if found is None:
        return SealedContent("", "", None)
    path = found[2].decode("utf-8", "replace")
    return SealedContent(path, found[1].decode(), content[found.end() :])
