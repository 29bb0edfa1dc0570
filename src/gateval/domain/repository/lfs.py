"""Tells Git LFS pointers from real content: who takes one for a file judges what nobody wrote.

Format: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md (pointers are under 1,024 bytes).
"""

from __future__ import annotations

POINTER_LIMIT = 1024
"""Bytes that every pointer stays below."""

_FIRST_LINE = b"version https://git-lfs.github.com/spec/v1"


def is_lfs_pointer(content: bytes) -> bool:
    """Whether the content of a file is a pointer to it, as git keeps it."""
    return content.startswith(_FIRST_LINE) and len(content) < POINTER_LIMIT
