"""The YAML of the document on Evals, as its authors wrote it."""

from __future__ import annotations

from pathlib import Path

from gateval.formats.base import Parsed
from tests.helpers.manifests import parse

FOLDER = Path(__file__).parents[1] / "data" / "pai"


def document(name: str) -> Parsed:
    """Read one of the files in `tests/data/pai`."""
    return parse((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml")
