"""What a page of a run holds, read without a browser: its policy, its data, its text."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from typing import Any


class ReadPage(HTMLParser):
    """The elements of a page: `tags` with their attributes, `scripts` by id, all other text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self.text = ""
        self._within: list[str] = []
        self._script = ""
        self.feed(page)
        self.close()
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._within.append(tag)
        if tag == "script":
            self._script = dict(attrs).get("id") or "program"
            self.scripts[self._script] = ""

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        inside = self._within[-1:]
        if inside == ["script"]:
            self.scripts[self._script] += data
        elif inside != ["style"]:
            self.text += data

    @property
    def lines(self) -> Any:
        """The lines of fixtures, and what is around them."""
        return json.loads(self.scripts["lines"])

    @property
    def blocks(self) -> dict[str, Any]:
        """The blocks by name, opened."""
        found = {
            name[1:]: text
            for name, text in self.scripts.items()
            if name not in {"lines", "program"}
        }
        return {
            name: json.loads(gzip.decompress(base64.b64decode(text)))
            for name, text in found.items()
        }

    @property
    def policy(self) -> str:
        """What may run and be loaded."""
        return next(
            one["content"] or "" for tag, one in self.tags if tag == "meta" and "http-equiv" in one
        )
