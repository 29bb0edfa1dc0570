"""Whole outputs are compared with files that people can read: one file per view."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

Golden = Callable[[str, str], None]


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> Golden:
    """Compare a text with its golden file; the second argument is the file's extension."""

    def compare(text: str, extension: str) -> None:
        class TextFile(SingleFileSnapshotExtension):
            _write_mode = WriteMode.TEXT
            file_extension = extension

        assert text == snapshot(extension_class=TextFile)

    return compare
