"""Reads an Experiment: which waits for the files that it names (`lowering.py`)."""

from __future__ import annotations

from gateval.formats.gathering import Pending
from gateval.formats.native.experiments.written import ExperimentDocument
from gateval.formats.native.written import ManifestKind, Read, Source


def read(source: Source) -> Read:
    """Return it as pending: its golden set may be a file."""
    return Read(Pending(source.path, source.document), ())


EXPERIMENT = ManifestKind("Experiment", ExperimentDocument, read)
