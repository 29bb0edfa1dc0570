"""The manifest formats that are found in git. One more is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gateval.domain.manifests.evaluation import SUFFIXES as SEALED_SUFFIXES
from gateval.formats.agentv.recognition import SUFFIXES as AGENTV_SUFFIXES
from gateval.formats.agentv.recognition import may_be_suite
from gateval.formats.agentv.recognition import read_file as read_suite_file
from gateval.formats.base import (
    Gathered,
    GatheringContext,
    Parsed,
    Pending,
    Registries,
    Source,
)
from gateval.formats.definitions.registry import format_of, is_named
from gateval.formats.native.manifests import (
    looks_like_manifest,
    may_hold_agent,
    may_name_files,
    read_manifests,
    targets,
)


class ManifestFormat(NamedTuple):
    """How manifests of one format are found and read. All its functions are pure.

    `suffixes`: how the names of its files end. `recognises`: whether a file with such a name,
    given by tracked path and content, is of this format; cheap. `may_hold_agent`,
    `may_name_files`: whether a recognised file can hold an Agent, or a fixture to which other files
    belong (a check's program, an attached image); false must be certain. `read`: everything in it.
    `gather`: what its files say together; needed where any are `pending`. `targets`: the Agents
    that its Evals are about, None for one that is hard to tell; cheap. `named`: whether a file is
    of it by its path, whatever its name ends in.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[str, bytes], bool]
    may_hold_agent: Callable[[bytes], bool]
    may_name_files: Callable[[bytes], bool]
    read: Callable[[str, bytes, Registries], Parsed]
    gather: Callable[[Sequence[Pending], GatheringContext], Gathered] | None = None
    targets: Callable[[bytes], frozenset[str | None]] = lambda _data: frozenset()
    named: Callable[[str], bool] = lambda _path: False

    def may_be(self, path: str) -> bool:
        """Whether a file may be of this format, going by its path."""
        return path.endswith(self.suffixes) or self.named(path)


def _gather_agentv(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    from gateval.formats.agentv.assembly import gather

    return gather(pending, around)


def _gather_definitions(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    from gateval.formats.definitions.assembly import gather

    return gather(pending, around)


def _read_sealed(path: str, data: bytes, registries: Registries) -> Parsed:
    from gateval.formats.sealed import read_sealed

    return read_sealed(path, data, registries)


def _gather_native(pending: Sequence[Pending], around: GatheringContext) -> Gathered:
    from gateval.formats.native import benchmark, experiment

    found = Gathered()
    for one in sorted(pending, key=lambda one: one.kind == "Benchmark"):
        if one.document is not None:
            source = Source(one.path, one.document, around.registries)
            read = benchmark if one.kind == "Benchmark" else experiment
            found = found.beside(read.gather(source, around))
    return found


NATIVE = ManifestFormat(
    name="native",
    suffixes=(".yaml", ".yml"),
    recognises=lambda _path, data: looks_like_manifest(data),
    may_hold_agent=may_hold_agent,
    may_name_files=may_name_files,
    read=read_manifests,
    gather=_gather_native,
    targets=targets,
)

AGENTV = ManifestFormat(
    name="agentv",
    suffixes=AGENTV_SUFFIXES,
    recognises=may_be_suite,
    may_hold_agent=lambda _data: True,
    may_name_files=lambda _data: True,
    read=read_suite_file,
    gather=_gather_agentv,
)

SEALED = ManifestFormat(
    name="sealed",
    suffixes=SEALED_SUFFIXES,
    recognises=lambda _path, _data: True,
    may_hold_agent=lambda _data: False,
    may_name_files=lambda _data: True,
    read=_read_sealed,
)

DEFINITIONS = ManifestFormat(
    name="definitions",
    suffixes=(".yaml", ".yml"),
    recognises=lambda path, data: format_of(path, data) is not None,
    may_hold_agent=lambda _data: True,
    may_name_files=lambda _data: False,
    read=lambda path, _data, _registries: Parsed((), (), pending=(Pending(path, None),)),
    gather=_gather_definitions,
    named=is_named,
)

FORMATS: tuple[ManifestFormat, ...] = (NATIVE, AGENTV, SEALED, DEFINITIONS)
"""In the order in which they are asked; the first that reads all of a file has it."""

SUFFIXES: tuple[str, ...] = tuple(dict.fromkeys(s for one in FORMATS for s in one.suffixes))
"""How the name of any manifest file ends."""


def may_be_read(path: str) -> bool:
    """Whether a file may be one to read, going by its path."""
    return path.endswith(SUFFIXES) or is_named(path)


def formats_of(
    path: str, data: bytes, known: Sequence[ManifestFormat] = FORMATS
) -> tuple[ManifestFormat, ...]:
    """Return the formats that a file may be of; none when it is no manifest."""
    return tuple(one for one in known if one.may_be(path) and one.recognises(path, data))


def read_file(
    path: str, data: bytes, registries: Registries, formats: Sequence[ManifestFormat]
) -> Parsed | None:
    """Return what is read of a file that may be of these formats, None when it is no manifest.

    Who recognises a file by a word in it may find nothing, or nothing in some of its documents:
    then the next format is asked, too.
    """
    found: Parsed | None = None
    for each in formats:
        read = each.read(path, data, registries)
        if read.pending:
            pending = tuple(one._replace(format=each.name) for one in read.pending)
            read = read._replace(pending=pending)
        found = read if found is None else found.beside(read)
        if not (found.nothing or found.left):
            break
    return found


def gather(
    pending: Sequence[Pending], around: GatheringContext, known: Sequence[ManifestFormat] = FORMATS
) -> Gathered:
    """Return what the files of a revision say together that are `pending`, each to its format."""
    made = Gathered()
    for each in known:
        files = [one for one in pending if one.format == each.name]
        if files and each.gather:
            made = made.beside(each.gather(files, around))
    return made
