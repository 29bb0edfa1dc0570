"""Markdown as GitHub reads it: its own parser, raw HTML kept, and what came out of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from typing import Final, NamedTuple

import cmarkgfm

from gateval.domain.decision.decision import Report
from gateval.render.report.facts import Frame
from tests.helpers import sample_reports

_RUN = "https://github.com/octo/shop/actions/runs/7001"

FRAME = Frame(
    run_url=_RUN,
    report_url=f"{_RUN}/artifacts/12",
    may_bypass=("admin", "maintain"),
    tree_url=f"https://github.com/octo/shop/blob/{'d' * 40}",
    anchor=(4, "c" * 64),
)
"""What the action knows of a pull request's run."""

ON_GITHUB: Final[dict[str, Callable[[], Report]]] = {
    "pass": partial(sample_reports.stored, "passes"),
    "improved": partial(sample_reports.stored, "improved"),
    "1 regression": sample_reports.regressed,
    "20 regressions": partial(sample_reports.numbered, 20),
    "60 regressions": partial(sample_reports.distinct, 60),
    "standing finding": partial(sample_reports.stored, "regressed"),
    "three agents judged": sample_reports.judged,
    "outage": partial(sample_reports.stored, "provider-down"),
    "bar lowered": partial(sample_reports.stored, "bar-lowered"),
    "bar accepted": sample_reports.accepted,
    "bypassed": sample_reports.bypassed,
    "first adoption": sample_reports.adopted,
    "weighted": partial(sample_reports.stored, "weighted-fails"),
    "benchmark": partial(sample_reports.stored, "benchmark"),
    "experiment": partial(sample_reports.stored, "experiment"),
    "benchmark, experiment and agentv": sample_reports.together,
    "agentv": partial(sample_reports.stored, "agentv-fails"),
    "nothing to evaluate": partial(sample_reports.stored, "agentv"),
    "measured anew": partial(sample_reports.stored, "standing"),
    "sealed": partial(sample_reports.stored, "sealed-partly"),
    "long names": sample_reports.long_names,
}
"""What people meet on pull requests, by a name: each kept as text, and measured in a browser."""

GITHUB_CSS = """
*{box-sizing:border-box}
body{margin:0;font:14px/1.5 "Noto Sans",Helvetica,Arial,sans-serif}
.comment{border:1px solid;padding:15px;overflow-wrap:break-word}
h3{font-size:1.25em}h4{font-size:1em}
blockquote{margin:0;padding:0 1em;border-left:.25em solid #d1d9e0}
p,blockquote,ul,table,pre,details{margin-top:0;margin-bottom:16px}
table{display:block;width:max-content;max-width:100%;overflow:auto;border-collapse:collapse}
th,td{padding:6px 13px;border:1px solid}
code{padding:.2em .4em;font-size:85%;white-space:break-spaces}
pre{padding:16px;overflow:auto;font-size:85%}pre code{padding:0;white-space:pre}
"""
"""As much of how GitHub shows a comment as decides how wide things are."""


def as_shown(markdown: str) -> str:
    """Return a document that shows a comment as GitHub does."""
    return (
        "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<style>{GITHUB_CSS}</style><div class=comment>{to_html(markdown)}</div>"
    )


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
