"""What `gateval view` shows of a run whose page is not there: first its scores, then the page, which
is kept for the files that it was made of and for nothing else.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from gateval.app.kept_page import KEPT_FILE
from tests.e2e.test_view import _shop, last_run
from tests.e2e.test_view_in_a_browser import inner, opened
from tests.helpers.browser import browsing
from tests.helpers.command import gateval
from tests.helpers.page import ReadPage
from tests.helpers.repo import Repo
from tests.helpers.viewing import Viewed, viewing

LARGE = 5 * 1024 * 1024


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """A shop with a run that left no page."""
    shop = _shop(tmp_path / "shop")
    (folder_of(shop) / "report.html").unlink()
    return shop


def folder_of(shop: Repo) -> Path:
    return shop.path / ".gateval/results" / last_run(shop)


def page_of(viewed: Viewed, folder: Path, **more: object) -> str:
    return viewed.ask("/page", {"page": f"runs/{folder.name}.html", **more}).text


def report(shop: Repo) -> str:
    return gateval(shop, "report", last_run(shop), "--format", "html").stdout


def enlarge(folder: Path) -> None:
    """Make the results file large, with nothing in it that says more."""
    with (folder / "results.v1.json").open("ab") as file:
        file.write(b" " * LARGE)


def test_a_page_that_was_made_is_kept_for_its_results(shop: Repo) -> None:
    folder = folder_of(shop)
    whole, results = report(shop), folder / "results.v1.json"
    kept = folder / KEPT_FILE
    with viewing(shop) as viewed:
        assert page_of(viewed, folder) == whole
        line, _, page = kept.read_bytes().partition(b"\n")
        assert page.decode() == whole
        for one in (folder / "trials").glob("0*.jsonl.gz"):
            one.rename(one.with_suffix(".away"))
        assert page_of(viewed, folder) == whole, "it is not made again"
        copied = results.read_bytes()
        results.unlink()
        results.write_bytes(copied)
        assert page_of(viewed, folder) == whole, "a copy is told by its digest"
        for one in (folder / "trials").glob("*.away"):
            one.rename(one.with_suffix(".gz"))
        for name in json.loads(line):
            told = json.loads(line)
            told[name] = "0" * 64
            kept.write_bytes(
                json.dumps(told).encode() + b"\n" + page.replace(b"support", b"forged!")
            )
            assert page_of(viewed, folder) == whole, f"of another {name}"
        time = results.stat()
        results.write_bytes(copied.replace(b"Hello", b"Adieu"))
        os.utime(results, ns=(time.st_atime_ns, time.st_mtime_ns))
        (folder / "trials/compared.jsonl.gz").unlink()
        assert "Adieu" in gateval(shop, "show", folder.name, "kind-word").stdout
        changed = page_of(viewed, folder)
        assert changed == report(shop) != whole, "it is of the results that are there"


def forged(folder: Path) -> None:
    kept = folder / KEPT_FILE
    kept.write_bytes(kept.read_bytes().replace(b"support-eval", b"forged-eval!"))


def of_another_program(folder: Path) -> None:
    line, _, page = (folder / KEPT_FILE).read_bytes().partition(b"\n")
    told = {**json.loads(line), "program": "0" * 64}
    (folder / KEPT_FILE).write_bytes(json.dumps(told).encode() + b"\n" + page)


def torn(folder: Path) -> None:
    kept = folder / KEPT_FILE
    kept.write_bytes(kept.read_bytes()[:5000])


def a_link(folder: Path) -> None:
    kept = folder / KEPT_FILE
    kept.rename(folder / "elsewhere")
    kept.symlink_to(folder / "elsewhere")


def no_file(folder: Path) -> None:
    """Nothing can be written there."""
    (folder / KEPT_FILE).unlink()
    (folder / KEPT_FILE / "full").mkdir(parents=True)


@pytest.mark.parametrize("change", [forged, of_another_program, torn, a_link, no_file])
def test_no_other_page_is_shown(shop: Repo, change: Callable[[Path], None]) -> None:
    folder = folder_of(shop)
    whole = report(shop)
    with viewing(shop) as viewed:
        assert page_of(viewed, folder) == whole
        change(folder)
        assert page_of(viewed, folder) == whole


def test_the_page_of_another_run_is_not_shown(shop: Repo) -> None:
    folder = folder_of(shop)
    other = folder.with_name("20300101-000000-0000")
    shutil.copytree(folder, other)
    results = other / "results.v1.json"
    results.write_bytes(results.read_bytes().replace(b"Hello", b"Adieu"))
    with viewing(shop) as viewed:
        first, second = page_of(viewed, folder), page_of(viewed, other)
        shutil.copyfile(folder / KEPT_FILE, other / KEPT_FILE)
        assert first != second == page_of(viewed, other)


def test_what_a_change_brought_is_neither_kept_nor_believed(shop: Repo) -> None:
    folder = folder_of(shop)
    whole = report(shop)
    with viewing(shop) as viewed:
        page_of(viewed, folder)
        kept = (folder / KEPT_FILE).read_bytes()
        (folder / KEPT_FILE).unlink()
        enlarge(folder)
        shop.git("add", "--force", str(folder))
        answer = viewed.ask("/page", {"page": f"runs/{folder.name}.html"})
        assert (answer.status, answer.text) == (200, whole)
        assert not (folder / KEPT_FILE).exists()
        (folder / KEPT_FILE).write_bytes(kept.replace(b"support-eval", b"forged-eval!"))
        assert page_of(viewed, folder) == whole


def test_of_a_large_run_the_scores_come_first(shop: Repo) -> None:
    folder = folder_of(shop)
    enlarge(folder)
    asked = {"page": f"runs/{folder.name}.html"}
    with viewing(shop) as viewed:
        first = viewed.ask("/page", asked)
        assert first.status == 202
        assert "kind-word" in (text := ReadPage(first.text).text)
        assert "comes by itself" in text
        assert not (folder / KEPT_FILE).exists(), "nothing of it was read"
        whole = viewed.ask("/page", {**asked, "whole": True})
        assert (whole.status, whole.text) == (200, report(shop))
        again = viewed.ask("/page", asked)
        assert (again.status, again.text) == (200, whole.text)
        (folder / KEPT_FILE).unlink()
        record = folder / "run.v1.json"
        said = record.read_bytes()
        record.write_bytes(said.replace(folder.name.encode(), b"20300101-000000-0000"))
        assert viewed.ask("/page", asked).text == whole.text, "the scores of another run"


def test_in_a_browser_the_page_takes_the_place_of_the_scores(shop: Repo) -> None:
    folder = folder_of(shop)
    enlarge(folder)
    with browsing() as browser, viewing(shop) as viewed:
        address = f"&page=runs/{folder.name}.html&at=%23support-eval/kind-word"
        with opened(browser, viewed, address) as page:
            expect(inner(page).locator("#t-fixture")).to_have_text(re.compile("^kind-word"))
            expect(page.locator("#told")).to_be_empty()
            assert "kind-word" in page.url
            expect(page.locator("#about")).to_contain_text("support-eval/kind-word")
