"""Markdown as GitHub reads it: its own parser, raw HTML kept, and what came out of it."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import NamedTuple

import cmarkgfm

_VOID = {"br", "hr", "img", "input"}


class Page(NamedTuple):
    """A rendered page: its tags in order, the texts outside and inside of code, its balance."""

    tags: tuple[str, ...]
    prose: str
    code: str
    balanced: bool
    comments: int
    rows: tuple[int, ...]
    """Cells per table row."""


def to_html(markdown: str) -> str:
    """Render with all of GitHub's extensions but the tag filter, so that raw HTML shows."""
    html: str = cmarkgfm.markdown_to_html_with_extensions(
        markdown,
        options=cmarkgfm.Options.CMARK_OPT_UNSAFE | cmarkgfm.Options.CMARK_OPT_FOOTNOTES,
        extensions=["table", "autolink", "strikethrough", "tasklist"],
    )
    return html


def read(markdown: str) -> Page:
    """Render and take apart."""
    reader = _Reader()
    reader.feed(to_html(markdown))
    reader.close()
    return Page(
        tuple(reader.tags),
        "".join(reader.prose),
        "".join(reader.code),
        reader.balanced and not reader.open,
        reader.comments,
        tuple(reader.rows),
    )


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.prose: list[str] = []
        self.code: list[str] = []
        self.open: list[str] = []
        self.rows: list[int] = []
        self.balanced = True
        self.comments = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in {"td", "th"}:
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.balanced = False

    def handle_data(self, data: str) -> None:
        inside = {"code", "pre"} & set(self.open)
        (self.code if inside else self.prose).append(data)

    def handle_comment(self, data: str) -> None:
        self.comments += 1
