"""`gateval view` in Chromium: pages, keys, labels, addresses, a narrow screen, and hostile names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, FrameLocator, Page, expect

from gateval.domain.history.run_record import record_line
from tests.e2e.test_view import _shop, last_run
from tests.helpers.browser import browsing
from tests.helpers.repo import Repo
from tests.helpers.runs import run_eval, run_fixture, run_record
from tests.helpers.viewing import Viewed, viewing

HOSTILE = "<img src=x onerror=parent.broken=1>\u202e"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """A shop with a run of its own, and records that somebody who may push wrote."""
    shop = _shop(tmp_path_factory.mktemp("view") / "shop")
    evil = run_eval(run_fixture(HOSTILE), name=HOSTILE[:40])
    (shop.path / ".git/gateval").mkdir(exist_ok=True)
    (shop.path / ".git/gateval/runs.jsonl").write_bytes(record_line(run_record(3, evil)))
    return shop


@pytest.fixture(scope="module")
def viewed(shop: Repo) -> Iterator[Viewed]:
    with viewing(shop) as found:
        yield found


@contextmanager
def opened(browser: Browser, viewed: Viewed, address: str = "", **context: Any) -> Iterator[Page]:
    """Open it; at the end, fail if it asked anybody else for anything, or complained."""
    made = browser.new_context(viewport=context.pop("viewport", None), **context)
    page, asked, said = made.new_page(), [], []
    page.on("request", lambda one: asked.append(one.url))
    page.on("console", lambda one: said.append(one.text))
    page.on("pageerror", lambda one: said.append(str(one)))
    page.goto(f"{viewed.address}{address}")
    expect(inner(page).locator("h1")).to_be_visible(timeout=30_000)
    yield page
    assert [one for one in asked if not one.startswith((viewed.root, "blob:"))] == []
    assert [one for one in said if not one.endswith("422 (Unprocessable Entity)")] == []
    assert page.evaluate("window.broken") is None
    made.close()


def inner(page: Page) -> FrameLocator:
    return page.frame_locator("#page")


def is_accessible(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == []


def open_fixture(page: Page) -> None:
    page.get_by_role("button", name="Heat map").click()
    inner(page).get_by_role("link", name="kind-word").last.click()
    expect(inner(page).locator("#t-fixture")).to_have_text(re.compile("^kind-word"))


def test_the_token_leaves_the_address_and_the_page_comes_again(
    browser: Browser, viewed: Viewed
) -> None:
    with opened(browser, viewed) as page:
        assert viewed.token not in page.url
        open_fixture(page)
        address = page.url
        assert "kind-word" in address
        page.reload()
        expect(inner(page).locator("#t-fixture")).to_have_text(re.compile("^kind-word"))
        assert page.url == address


def test_without_the_token_a_page_says_what_to_do(browser: Browser, viewed: Viewed) -> None:
    context = browser.new_context()
    for address in (viewed.root, f"{viewed.root}#token=wrong"):
        page = context.new_page()
        page.goto(address)
        expect(page.locator("#told")).to_have_text(re.compile("The token|the token"))
        assert "support-eval" not in page.content()
    context.close()


def test_another_site_cannot_show_it_or_ask_it(browser: Browser, viewed: Viewed) -> None:
    """A page of another origin, which knows where it listens and even the token."""
    with viewing_elsewhere(browser, viewed) as found:
        assert found == ["refused", "refused"]


@contextmanager
def viewing_elsewhere(browser: Browser, viewed: Viewed) -> Iterator[list[str]]:
    context = browser.new_context()
    page = context.new_page()
    page.route(
        "http://evil.example/", lambda one: one.fulfill(body="<p>evil", content_type="text/html")
    )
    page.goto("http://evil.example/")
    asking = """async ([url, token, mode]) => {
      try {
        const headers = mode === "cors" ? {"Content-Type": "application/json", Authorization: `Bearer ${token}`} : {};
        const answer = await fetch(url, {method: "POST", mode, headers, body: '{"page": "index.html"}'});
        return answer.type === "opaque" || !answer.ok ? "refused" : await answer.text();
      } catch { return "refused"; }
    }"""
    words = [viewed.root + "page", viewed.token]
    yield [page.evaluate(asking, [*words, mode]) for mode in ("cors", "no-cors")]
    context.close()


def test_a_label_is_given_by_keys_alone(browser: Browser, tmp_path: Path) -> None:
    shop = _shop(tmp_path / "shop")
    with viewing(shop) as viewed, opened(browser, viewed) as page:
        expect(page.locator("#label")).to_be_hidden()
        open_fixture(page)
        expect(page.locator("#about")).to_have_text("support-eval/kind-word, repetition 1 of head")
        page.keyboard.press("0")
        expect(page.locator("#score-0")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Escape")
        expect(page.locator("#score-0")).to_have_attribute("aria-pressed", "false")
        page.keyboard.press("1")
        page.keyboard.type("It says 0 and 1: kind")
        page.keyboard.press("Enter")
        expect(page.locator("#told")).to_contain_text(
            "the judge gave 0.00, you give 1 (judgeWrong)."
        )
        page.keyboard.press("1")
        page.keyboard.type("again")
        page.keyboard.press("Enter")
        expect(page.locator("#told")).to_contain_text("has an example of this trace already")
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(page.locator("#label")).to_be_hidden()
    changed = shop.git("status", "--porcelain").decode().split()[1]
    example = yaml.safe_load((shop.path / changed).read_text())["spec"]["examples"][-1]
    assert (example["humanScore"], example["humanLabel"]) == (1.0, "It says 0 and 1: kind")


def test_two_runs_are_held_against_each_other(browser: Browser, shop: Repo, viewed: Viewed) -> None:
    with opened(browser, viewed) as page:
        page.locator("#a").fill("run-3")
        page.locator("#b").fill(last_run(shop))
        page.locator("#b").press("Enter")
        expect(page.locator("#told")).to_have_text(re.compile("known here|^$"))
        page.locator("#a").fill(last_run(shop))
        page.locator("#b").press("Enter")
        expect(inner(page).get_by_text("more with equal results")).to_be_visible()
        page.get_by_role("button", name="History").click()
        expect(inner(page).locator("h1")).to_have_text("History of Evals")


def test_keys_are_for_the_page_that_was_chosen(
    browser: Browser, shop: Repo, viewed: Viewed
) -> None:
    """A key went into the field, or the list, by which somebody had come to the answer."""
    run = last_run(shop)
    with opened(browser, viewed) as page:
        page.locator("#a").fill(run)
        page.locator("#b").fill(run)
        page.locator("#b").press("Enter")
        expect(inner(page).get_by_text("more with equal results")).to_be_visible()
        expect(page.locator("#told")).to_be_empty()
        page.keyboard.press("1")
        expect(page.locator("#b")).to_have_value(run)
        page.locator("#run").focus()
        page.locator("#run").select_option(run)
        expect(inner(page).locator("#fixtures")).to_be_attached()
        expect(page.locator("#told")).to_be_empty()
        page.frames[1].evaluate("location.hash = '#support-eval/kind-word'")
        expect(page.locator("#label")).to_be_visible()
        page.keyboard.press("1")
        expect(page.locator("#score-1")).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#note")).to_be_focused()
        assert page.locator("#run").input_value() == run


def test_hostile_records_stay_text(browser: Browser, viewed: Viewed) -> None:
    with opened(browser, viewed) as page:
        expect(inner(page).locator("body")).to_contain_text("<img src=x onerror=parent.broken=1>")
        page.get_by_role("button", name="Heat map").click()
        expect(inner(page).locator("table.heat").first).to_be_visible()
        expect(inner(page).locator("body")).to_contain_text("⟦U+202E⟧")
        assert inner(page).locator("img, script, iframe").count() == 0


@pytest.mark.parametrize(
    "context",
    [
        {"viewport": {"width": 1280, "height": 900}},
        {"viewport": {"width": 320, "height": 700}},
        {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    ],
    ids=["wide", "narrow", "dark"],
)
def test_everybody_can_use_it(browser: Browser, viewed: Viewed, context: dict[str, Any]) -> None:
    """Nothing serious or critical by axe-core, and no sideways scrolling of any page."""
    with opened(browser, viewed, **context) as page:
        for heat in (False, True):
            if heat:
                page.get_by_role("button", name="Heat map").click()
            expect(inner(page).locator("table").first).to_be_visible()
            is_accessible(page)
            fits(page)
        open_fixture(page)
        page.keyboard.press("1")
        is_accessible(page)
        fits(page)


def fits(page: Page) -> None:
    for frame in page.frames:
        wide, room = frame.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert wide <= room
