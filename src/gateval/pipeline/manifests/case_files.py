"""Finds and reads the files of cases that fixtures name."""

from __future__ import annotations

from collections.abc import Sequence

from gateval.domain.repository.lfs import is_lfs_pointer
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Problem
from gateval.domain.repository.tree import Tree
from gateval.formats.native.cases.case import CasesRead
from gateval.formats.native.cases.reading import read_cases
from gateval.formats.native.cases.written import Template
from gateval.pipeline.manifests.cache import ManifestCache


def case_files(templates: Sequence[Template]) -> frozenset[str]:
    """Return the paths of the files of cases, whether or not they are there."""
    return frozenset(one.file for one in templates if one.file is not None)


def named_case_files(tree: Tree, cache: ManifestCache) -> frozenset[str]:
    """Return the files of cases that the manifests of a tree name; only those are parsed."""
    found: set[str] = set()
    for path, entry in cache.tree_files(tree).files.items():
        if b"cases" in (cache.data(entry) or b"") and cache.is_manifest(path, entry):
            parsed = cache.parse(path, entry)
            found |= case_files(parsed.templates) if parsed else set()
    return frozenset(found)


def cases_read(template: Template, tree: Tree, cache: ManifestCache) -> CasesRead:
    """Return the cases of a template, read once for each content of the file; none without one."""
    if template.file is None:
        return CasesRead((), ())
    path = template.file
    entry = tree.get(path)
    shown = show_path(path)
    data = cache.data(entry) if entry is not None and entry.is_file else None
    message = ""
    if entry is None:
        message = f"There is no file {shown} in this revision. Add it, or track it with git."
    elif not entry.is_file:
        message = f"{shown} is a symbolic link or a submodule. Put the file itself there."
    elif data is None:
        message = f"{shown} has more than {cache.FILE_LIMIT:,} bytes. Split it."
    elif is_lfs_pointer(data):
        message = f"{shown} is a Git LFS pointer. Store the file itself in git."
    if message or entry is None or data is None:
        problem = Problem(place=template.file_place, path="spec.cases.file", message=message)
        return CasesRead((), (problem,))
    return cache.once(("cases", path, entry.oid), lambda: read_cases(path, data))
