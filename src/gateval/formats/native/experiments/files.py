"""Finds a file that an experiment names, and says what is wrong where it is not one."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.repository.lfs import is_lfs_pointer
from gateval.domain.repository.paths import resolve_path, show_path
from gateval.domain.repository.place import Problem
from gateval.domain.text.quoting import quote
from gateval.formats.gathering import GatheringContext
from gateval.formats.native.written import Source
from gateval.formats.problems.validation import problem_at
from gateval.formats.yaml.document import DocumentPath


class Named(NamedTuple):
    """A tracked file: its path from the root, how that is shown, and what it holds."""

    path: str
    shown: str
    content: bytes


def named_file(
    source: Source,
    at: DocumentPath,
    written: str,
    around: GatheringContext,
    endings: tuple[str, ...],
) -> Named | Problem:
    """Return the file that is written at this place of the manifest, or the problem with it."""
    path = resolve_path(source.path.rpartition("/")[0], written)
    if not path:
        message = f"{quote(written)} leads out of the repository."
    elif not path.endswith(endings):
        message = f"The name of {quote(written)} must end in one of {', '.join(endings)}."
    elif path not in around.tree:
        message = (
            f"There is no file {show_path(path)} in this revision. Add it, or track it with git."
        )
    elif not around.tree[path].is_file:
        message = f"{show_path(path)} is a symbolic link or a submodule. Put the file itself there."
    elif (content := around.content(path)) is None:
        message = f"{show_path(path)} is too large to be read. Split it."
    elif is_lfs_pointer(content):
        message = f"{show_path(path)} is a Git LFS pointer. Store the file itself in git."
    else:
        return Named(path, show_path(path), content)
    return problem_at(source.document, at, message)
