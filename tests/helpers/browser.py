"""A page in a real browser, from a file: what it asks for, what it complains of, what it shows."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import Browser, BrowserType, Page, expect, sync_playwright

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@contextmanager
def browsing() -> Iterator[Browser]:
    """A browser of this machine; skips where it has none."""
    with sync_playwright() as started:
        browser = launched(started.chromium)
        yield browser
        browser.close()


def launched(kind: BrowserType, *arguments: str) -> Browser:
    """Return a browser with further arguments; skips where this machine has none."""
    found = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if found is None and not os.environ.get("GATEVAL_TEST_ALL"):
        pytest.skip("this machine has no Chromium")
    return kind.launch(executable_path=found, args=[*ARGUMENTS, *arguments])


class Opened:
    """A page that is open. `asked` are the addresses it loaded, `said` what the console has."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.said: list[str] = []
        page.on("request", lambda one: self.asked.append(one.url))
        page.on("console", lambda one: self.said.append(one.text))
        page.on("pageerror", lambda one: self.said.append(str(one)))

    def go(self, address: str) -> None:
        """Follow an address within the page, and wait for the fixture that it names."""
        self.page.evaluate("address => { location.hash = address }", address)
        name = address.split("/")[1]
        expect(self.page.locator("#t-fixture")).to_have_text(re.compile(f"^{re.escape(name)}"))


_tabs: WeakKeyDictionary[Browser, dict[str, Opened]] = WeakKeyDictionary()


@contextmanager
def opened(browser: Browser, file: Path, address: str = "", **context: Any) -> Iterator[Opened]:
    """Open a file; at the end, fail if it asked for anything else or complained of anything.

    Pages that are to look alike follow each other in one tab: a new one starts processes, which
    takes four times the CPU time.
    """
    size = context.pop("viewport", {"width": 1280, "height": 720})
    tabs, kind = _tabs.setdefault(browser, {}), json.dumps(context, sort_keys=True)
    shown = tabs.pop(kind, None) or Opened(browser.new_context(**context).new_page())
    shown.page.set_viewport_size(size)
    shown.asked.clear()
    shown.page.goto(f"{file.as_uri()}{address}")
    yield shown
    assert [one for one in shown.asked if not one.startswith((file.as_uri(), "blob:"))] == []
    assert shown.said == []
    shown.page.emulate_media(media="null")
    shown.page.goto("about:blank")
    tabs[kind] = shown  # a tab in which something failed is not used again
