"""Writes a labelled example: into the calibration that is there, or into a new one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gateval.adapters.folders import opened_folder, replace_file
from gateval.adapters.new_files import write_new
from gateval.app.registries import registries
from gateval.domain.base import JsonObject
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.promotion.challenge import Judged, new_calibration
from gateval.errors import UsageError
from gateval.formats.native.manifests import read_manifests
from gateval.formats.native.writing import manifest_text, with_example


class NewCalibration(NamedTuple):
    """What a new calibration begins with: the verdict that was objected to, and the example."""

    judged: Judged
    example: JsonObject


def extend(root: Path, known: Calibration, example: JsonObject) -> str:
    """Put the example into the file of a calibration that is there."""
    if any(one.trace_ref == example["traceRef"] for one in known.examples):
        raise UsageError(
            f"{known.name} has an example of this trace already.",
            hint=f"Change it in {known.place.file}; nothing is overwritten.",
        )
    file = root / known.path
    before = file.read_bytes()
    after = with_example(before.decode(), _number(known, before), example).encode()
    _refuse_change(known, before, after)
    with opened_folder(file.parent) as folder:
        replace_file(folder, file.name, after)
    return known.place.file


def _number(known: Calibration, data: bytes) -> int:
    """Which document of its file a calibration is."""
    from gateval.formats.yaml.reader import read_documents

    documents, _ = read_documents(known.path, data)
    for number, document in enumerate(documents):
        if document.place(("metadata", "name")) == known.place:
            return number
    raise UsageError(f"{known.place.file} has changed meanwhile.", hint="Do it again.")


def _refuse_change(known: Calibration, before: bytes, after: bytes) -> None:
    """Raise `UsageError` unless one example more is all that the file says now."""
    old, new = (read_manifests(known.path, data, registries()) for data in (before, after))
    said = [one.digest for one in old.manifests if one.name != known.name or one.kind != known.kind]
    kept = [one.digest for one in new.manifests if one.name != known.name or one.kind != known.kind]
    grown = next(
        (one for one in new.manifests if isinstance(one, Calibration) and one.name == known.name),
        None,
    )
    whole = (
        grown is not None and grown.examples[:-1] == known.examples and grown.rubric == known.rubric
    )
    if new.problems or said != kept or not whole:
        raise UsageError(
            f"{known.place.file} is written in a way that Gateval cannot add to.",
            hint="Write its examples as a list of lines, each with a dash.",
        )


def begin(
    root: Path, catalogue: Catalogue, evaluation: str, named: str | None, start: NewCalibration
) -> str:
    """Write a new calibration beside an Eval, and return its path from the root."""
    known = catalogue.eval(evaluation)
    folder = known.path.rpartition("/")[0] if known else ""
    name = named or _free(f"{evaluation}-judge", catalogue)
    text = manifest_text([new_calibration(name, start.judged, start.example)])
    path = f"{folder}/{name}.yaml" if folder else f"{name}.yaml"
    if not write_new(root, path, text):
        raise UsageError(f"{path} is there already.", hint="Name another with --calibration.")
    return path


def _free(name: str, catalogue: Catalogue) -> str:
    number, free = 2, name
    while catalogue.calibration(free) is not None:
        free, number = f"{name}-{number}", number + 1
    return free
