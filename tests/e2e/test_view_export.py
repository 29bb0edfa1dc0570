"""`gateval view --export`: a site of scores alone, with badges, and never in another's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, expect

from gateval.domain.history.run_record import RunRecord, record_line
from tests.e2e.test_view import _shop, last_run
from tests.helpers.browser import browsing
from tests.helpers.command import gateval
from tests.helpers.experiments import lab, ran
from tests.helpers.page import ReadPage
from tests.helpers.repo import Repo
from tests.helpers.runs import run_eval, run_fixture, run_record

SAID = ("Hello! How can I help", "Not kind")
"""What agent and judge said."""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return _shop(tmp_path / "shop")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


def export(shop: Repo, *more: str, **extra: str) -> Path:
    done = gateval(shop, "view", "--export", "../site", *more, **extra)
    assert done.returncode == 0, done.stderr
    return shop.path.parent / "site"


def texts(site: Path) -> dict[str, str]:
    return {
        one.relative_to(site).as_posix(): one.read_text()
        for one in site.rglob("*")
        if one.is_file()
    }


def keep(shop: Repo, *records: RunRecord) -> None:
    copy = shop.path / ".git/gateval/runs.jsonl"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(b"".join(map(record_line, records)))


def test_a_site_has_scores_and_nothing_that_was_said(shop: Repo) -> None:
    found = texts(export(shop, CI="true"))
    run = last_run(shop)
    assert set(found) == {
        ".nojekyll", "gateval-site.json", "index.html", "heat.html", f"runs/{run}.html",
        "badge.svg", "badge.json", "badges/support-eval.svg", "badges/support-eval.json",
    }  # fmt: skip
    assert not any(said in text for said in SAID for text in found.values())
    assert "kind-word" in ReadPage(found[f"runs/{run}.html"]).text
    assert not any("<script" in text for text in found.values())


def test_traces_are_there_when_they_are_asked_for(shop: Repo) -> None:
    site = export(shop, "--traces")
    run = last_run(shop)
    written = shop.path / ".gateval/results" / run / "report.html"
    assert (site / "runs" / f"{run}.html").read_text() == written.read_text()


def test_badges_say_how_evals_stand(shop: Repo) -> None:
    keep(
        shop,
        run_record(1, run_eval(run_fixture("a"), name="good-eval")),
        run_record(2, run_eval(run_fixture("b"), name="</title><script>&\x1b[31m")),
    )
    found = texts(export(shop))
    told = json.loads(found["badge.json"])
    assert told.keys() == {"schemaVersion", "label", "message", "color", "cacheSeconds"}
    assert (told["schemaVersion"], told["label"], told["color"]) == (1, "evals", "red")
    assert told["message"] == "2 of 3 pass"
    assert json.loads(found["badges/good-eval.json"])["message"].startswith("pass ")
    for name, text in found.items():
        if name.endswith(".svg"):
            tags = {one.tag.rpartition("}")[2] for one in ET.fromstring(text).iter()}  # noqa: S314
            assert tags == {"svg", "title", "rect", "path", "g", "text"}


def test_a_score_is_shown_where_answers_have_one(tmp_path: Path) -> None:
    repo = lab(tmp_path / "lab")
    repo.write("lab/task.py", "def shout(text):\n    return text\n")
    repo.commit("Silent")
    ran(repo)
    found = texts(export(repo))
    (run,) = [name for name in found if name.startswith("runs/")]
    assert "0.50" in ReadPage(found["heat.html"]).text
    assert "uppercase-agent.hello0.50" in ReadPage(found[run]).text
    assert "exactMatch" in ReadPage(found["index.html"]).text


def test_an_earlier_site_is_replaced_and_nothing_else(shop: Repo) -> None:
    keep(shop, run_record(1, run_eval(run_fixture("a"), name="old-eval")))
    site = export(shop)
    assert (site / "badges/old-eval.svg").exists()
    (site / "CNAME").write_text("evals.example\n")
    keep(shop)
    export(shop)
    assert not (site / "badges/old-eval.svg").exists()
    assert (site / "CNAME").read_text() == "evals.example\n"
    other = shop.path.parent / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    done = gateval(shop, "view", "--export", "../other")
    assert (done.returncode, "no site of Gateval" in done.stderr) == (2, True)
    assert [one.name for one in other.iterdir()] == ["mine.txt"]


def test_a_list_of_an_earlier_site_takes_nothing_else_away(shop: Repo) -> None:
    site = export(shop)
    victim = shop.path.parent / "victim.txt"
    victim.write_text("mine")
    told = {"files": ["../victim.txt", "runs/../../victim.txt", str(victim), "", 7]}
    (site / "gateval-site.json").write_text(json.dumps(told))
    export(shop)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize(
    "words", [("--traces",), ("RUN", "--export", "x"), ("--export", "x", "--port", "80")]
)
def test_options_that_do_not_go_together_are_told(shop: Repo, words: tuple[str, ...]) -> None:
    assert gateval(shop, "view", *words).returncode == 2


def test_without_a_run_a_site_says_so(shop: Repo) -> None:
    empty = Repo.clone(shop.path, shop.path.parent / "empty")
    site = export(empty)
    assert "No run is known here" in (site / "index.html").read_text()
    assert not (site / "badge.svg").exists()


def test_a_site_works_from_a_disk(shop: Repo, browser: Browser) -> None:
    site = export(shop, "--traces")
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("console", lambda one: said.append(one.text))
    page.goto((site / "index.html").as_uri())
    for heat in (False, True):
        if heat:
            page.get_by_role("link", name="Heat map").click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        violations = Axe().run(page).response["violations"]
        assert [one["id"] for one in violations if one["impact"] in {"serious", "critical"}] == []
    page.get_by_role("link", name="kind-word").last.click()
    expect(page.locator("#t-fixture")).to_contain_text("kind-word")
    export(shop)
    page.goto((site / "heat.html").as_uri())
    page.get_by_role("link", name="kind-word").last.click()
    expect(page.locator("tr:target th")).to_have_text("kind-word")
    assert [one for one in asked if not one.startswith(site.as_uri())] == []
    assert said == []
    context.close()
