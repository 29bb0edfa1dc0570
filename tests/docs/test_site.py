"""The documentation as a site: built, read by a browser, and loaded from nowhere else."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from tests.helpers.browser import browsing
from tests.helpers.command import ROOT
from tools.site import pages

ZENSICAL = ROOT / ".venv" / "site" / "bin" / "zensical"
CONFIG = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]
TAKES = re.compile(r"<(?:script|img|link|a)\b[^>]*?\b(?:src|href)=\"?([^\"\s>]+)")
ANCHOR = re.compile(r"\bid=\"?([^\"\s>]+)")


def named(nav: list[dict[str, Any]]) -> Iterator[str]:
    """Every page of the navigation."""
    for one in nav:
        for inside in one.values():
            yield from named(inside) if isinstance(inside, list) else [inside]


def test_the_navigation_names_every_page_once() -> None:
    inner = re.compile(r"adr/\d|reference/assertions/|guides/README")
    assert sorted(named(CONFIG["nav"])) == sorted(one for one in pages() if not inner.match(one))


def test_each_assertion_has_a_page_that_says_what_passes_and_what_fails() -> None:
    own = {name: text for name, text in pages().items() if name.startswith("reference/assertions/")}
    assert len(own) > 50
    for name, text in own.items():
        assert text.startswith(f"# {Path(name).stem}\n"), name
        assert "\n- Passes" in text, name
        assert "\n- Fails" in text, name


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built."""
    if not ZENSICAL.exists():
        pytest.skip("`make site` sets up what builds it")
    folder = tmp_path_factory.mktemp("site")
    words = ["make", "--no-print-directory", "site", f"SITE={folder}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_all_links_lead_somewhere(site: Path) -> None:
    texts = {f"/{path.relative_to(site)}": path.read_text("utf-8") for path in site.rglob("*.html")}
    anchors = {name: set(ANCHOR.findall(text)) for name, text in texts.items()}
    broken = []
    for name, text in texts.items():
        for link in TAKES.findall(text):
            to = urlsplit(urljoin(name, link))
            if to.scheme or to.netloc or name == "/404.html":
                continue
            path = unquote(to.path)
            page = f"{path}index.html" if path.endswith("/") else path
            known = anchors.get(page, set())
            if not (site / page[1:]).is_file() or (
                to.fragment and unquote(to.fragment) not in known
            ):
                broken.append(f"{name}: {link}")
    assert broken == []


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_browser_finds_an_assertion_and_loads_nothing_from_elsewhere(site: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Silent, directory=str(site)))
    here = f"http://127.0.0.1:{server.server_port}/"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with browsing() as browser:
            page = browser.new_page()
            asked: list[str] = []
            page.on("request", lambda one: asked.append(one.url))
            page.goto(here)
            page.get_by_role("button", name="Search").first.click()
            page.get_by_placeholder("Search").fill("toolCalled")
            page.locator("a[href*='assertions/toolCalled']").first.click()
            page.get_by_role("heading", level=1, name="toolCalled").wait_for()
            assert [one for one in asked if not one.startswith((here, "data:", "blob:"))] == []
    finally:
        server.shutdown()
        server.server_close()
