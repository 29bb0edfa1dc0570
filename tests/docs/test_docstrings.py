"""Docstrings name only files that are there: they are how a newcomer finds the way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.command import ROOT

SOURCE = ROOT / "src/gateval"


def lost(file: Path, text: str) -> Iterator[str]:
    """Yield the names of source files in backticks that lead nowhere from `file`.

    A name is relative to the folder of the file, to the package, or to the repository.
    """
    for name in re.findall(r"`([\w/]+\.py)`", text):
        if not any((folder / name).is_file() for folder in (file.parent, SOURCE, ROOT)):
            yield f"{file.relative_to(ROOT)}: {name}"


def test_every_file_that_is_named_exists() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 300
    assert [name for file in files for name in lost(file, file.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see `story.py`", ["story.py"]),
        ("`gate.py` asks `domain/base.py`", []),
        ("`benchmarks/kappa.py`", []),
        ("`domain/story.py` and `gone/gate.py`", ["domain/story.py", "gone/gate.py"]),
    ],
)
def test_a_name_that_leads_nowhere_is_seen(text: str, names: list[str]) -> None:
    file = SOURCE / "app/action/__init__.py"
    assert list(lost(file, text)) == [f"src/gateval/app/action/__init__.py: {one}" for one in names]
