"""What playgrounds start with: put together once for each fixture's files, and copied from then on.

The files are a pull request's, so a link among them may lead anywhere: nothing is written over one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gateval.candidates.playground.copies import NotCopied, copy_into
from gateval.domain.manifests.fixtures.playground import PlaygroundSpec
from gateval.domain.repository.paths import resolve_path, resolve_pattern, show_path
from gateval.domain.repository.patterns import match_any
from gateval.domain.repository.tree import under


@dataclass(frozen=True)
class Templates:
    """Folders to copy: what the candidate starts with, and services with a folder of their own."""

    root: Path
    services: dict[str, Path] = field(default_factory=dict)


class NotMade(Exception):
    """A playground cannot be put together; a sentence says why."""


def put_together(spec: PlaygroundSpec, folder: str, export: Path, scratch: Path) -> Templates:
    """Copy from `export`, the files at the fixture's revision, what its playgrounds start with.

    `folder` is the manifest's. An SQLite database that is there as it is comes too; one that
    statements make does not. Raises `NotMade`.
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
    return Templates(root, services)


def source_of(spec: PlaygroundSpec, folder: str, export: Path) -> Path:
    """Return the file that the database is made of. Raises `NotMade` where it is no file."""
    written = spec.sqlite.source if spec.sqlite else ""
    source = export / (resolve_path(folder, written) or ".")
    above = str(source.parent.relative_to(export)) if source != export else "."
    plain = above == "." or _is_plain_folder(export, above)
    if source.is_symlink() or not plain or not source.is_file():
        raise NotMade(f"{show_path(written)} is no file of its revision.")
    return source


def free_place(root: Path, path: str) -> Path:
    """Return where a file may be written at this path, its folders made. Raises `NotMade`."""
    target = root / path
    for step in reversed(target.relative_to(root).parents):
        above = root / step
        if above.is_symlink() or (above.exists() and not above.is_dir()):
            raise NotMade(
                f"{show_path(path)} cannot be put there: {show_path(str(step))} is no folder."
            )
        above.mkdir(exist_ok=True)
    if os.path.lexists(target):
        raise NotMade(f"{show_path(path)} stands in the playground twice.")
    return target


def _copy(export: Path, path: str | None, target: Path) -> None:
    source = export / (path or "")
    if path is None or not _is_plain_folder(export, path):
        raise NotMade(f"{show_path(path or '')} is no folder of its revision.")
    try:
        copy_into(source, target)
    except NotCopied as error:
        raise NotMade(f"{show_path(path)}: {error}.") from None


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
