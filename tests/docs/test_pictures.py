"""Pictures of comment and report come first, are small, and hold nothing but what is seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.command import ROOT
from tests.helpers.pictures import FOLDER, MOST_BYTES
from tools.site import pages

SHOWN = {path.name: path.read_bytes() for path in FOLDER.iterdir()}


def test_readme_and_site_begin_with_comment_and_report() -> None:
    for page in ((ROOT / "README.md").read_text("utf-8"), pages()["index.md"]):
        before = page.partition("```")[0]
        found = [Path(one).name for one in re.findall(r"!\[[^]]+\]\(([^)]+)\)", before)]
        assert found == ["comment.png", "report.png"]


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_is_small_shown_and_without_notes(name: str) -> None:
    chunks, at, data = set(), 8, SHOWN[name]
    while at < len(data):
        chunks.add(data[at + 4 : at + 8])
        at += 12 + int.from_bytes(data[at : at + 4])
    assert chunks == {b"IHDR", b"IDAT", b"IEND"}, "no text, no time, no machine"
    assert len(data) <= MOST_BYTES
    assert any(f"pictures/{name})" in page for page in pages().values())
