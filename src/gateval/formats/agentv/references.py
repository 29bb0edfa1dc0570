"""Finds the files that a suite names, as AgentV does: beside it, then in each folder around it."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.repository.lfs import is_lfs_pointer
from gateval.domain.repository.paths import resolve_path, show_path
from gateval.domain.repository.tree import folders_of
from gateval.domain.text.quoting import quote
from gateval.formats.gathering import TEXT_LIMIT, GatheringContext


class NoFile(ValueError):
    """A file cannot be used; the message is a sentence."""


def roots(folder: str) -> Iterator[str]:
    """Yield the folders in which a file is looked for: that of the suite, then those around it."""
    if folder:
        yield folder
        yield from reversed(tuple(folders_of(folder)))
    yield ""


def find(written: str, folder: str, around: GatheringContext) -> str:
    """Return the path of the file that a suite in `folder` names. Raises `NoFile`.

    A leading `/` counts from the root of the repository.
    """
    tried = ["", *roots(folder)] if written.startswith("/") else [*roots(folder)]
    for root in tried:
        path = resolve_path(root, written.lstrip("/"))
        if path and path in around.tree:
            if not around.tree[path].is_file:
                shown = show_path(path)
                raise NoFile(
                    f"{shown} is a symbolic link or a submodule. Put the file itself there."
                )
            return path
    places = "the root" if not folder else f"{show_path(folder)}/ or a folder around it"
    raise NoFile(
        f"There is no file {quote(written)} in {places} in this revision. Add it, or track it with "
        "git."
    )


def text_at(path: str, around: GatheringContext) -> str | None:
    """Return the text of a tracked file with line feeds, None if it is no text. Raises `NoFile`."""
    data, shown = around.content(path), show_path(path)
    if data is None:
        raise NoFile(f"{shown} is too large to be read.")
    return _text(data, shown)


def is_foreign(written: str) -> bool:
    """Whether a file of another repository is named."""
    return "://" in written


def foreign_text(url: str, around: GatheringContext) -> str:
    """Return the text of a file of another repository with line feeds. Raises `NoFile`."""
    try:
        text = _text(around.foreign(url), url)
    except ValueError as error:
        raise NoFile(str(error)) from None
    if text is None:
        raise NoFile(f"{quote(url)} is no text. Copy the file into this repository.")
    return text


def _text(data: bytes, shown: str) -> str | None:
    if is_lfs_pointer(data):
        raise NoFile(f"{shown} is a Git LFS pointer. Store the file itself in git.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    if len(data) > TEXT_LIMIT:
        raise NoFile(f"{shown} has more than {TEXT_LIMIT:,} bytes of text. Name a part of it.")
    return text.replace("\r\n", "\n")
