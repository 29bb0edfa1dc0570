"""The pictures in the docs, made from what a run wrote, by the tests that run what the docs show.

`make pictures` keeps them in `docs/pictures`; every other run of these tests makes them in a
folder of its own and compares what can be compared between machines with different fonts.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from tests.helpers.browser import browsing, opened
from tests.helpers.command import ROOT
from tests.helpers.github_markdown import as_shown

FOLDER = ROOT / "docs" / "pictures"
MOST_BYTES = 140_000
_LOOK = """<style>
body{padding:12px;color:#1f2328}.comment{border-color:#d1d9e0;border-radius:6px}
th,td{border-color:#d1d9e0}code,pre{background:#f6f8fa;border-radius:6px}
blockquote{color:#59636e}p,ul{font-size:14px}
</style>"""
"""The colours in which GitHub shows a comment; what decides its widths is `github_markdown`'s."""

_SIGNS = {
    "❌": "<b style='color:#cf222e'>✖</b>",
    "✅": "<b style='color:#1a7f37'>✔</b>",
}
"""Signs that need a font which few machines of CI have."""


def picture_of_comment(comment: Path, name: str, folder: Path, *, height: int) -> str:
    """Make a picture of the beginning of a comment; return the text that it begins with."""
    page = folder / f"{name}.html"
    text = as_shown(comment.read_text("utf-8"))
    for sign, drawn in _SIGNS.items():
        text = text.replace(sign, drawn)
    page.write_text(text + _LOOK, encoding="utf-8")
    return picture_of_page(page, name, folder, width=790, height=height)


def picture_of_page(page: Path, name: str, folder: Path, *, width: int, height: int) -> str:
    """Make a picture of the top of a page and compare it; return the text of the page."""
    target = FOLDER if os.environ.get("GATEVAL_PICTURES") else folder
    made = target / f"{name}.png"
    made.parent.mkdir(exist_ok=True)
    size = {"width": width, "height": height}
    with browsing() as browser, opened(browser, page, viewport=size, color_scheme="light") as shown:
        shown.page.screenshot(path=made)
        text = shown.page.locator("body").inner_text()
    assert dimensions(made) == dimensions(FOLDER / f"{name}.png"), "run `make pictures`"
    return text


def dimensions(png: Path) -> tuple[int, int]:
    """Width and height, as the file's first chunk says."""
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    return width, height
