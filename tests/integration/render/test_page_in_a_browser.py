"""The page of a run in Chromium, from a file: nothing is loaded, nothing hostile runs, and people
find the step to blame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, expect

import gateval.render.page as room
from gateval.domain.decision.decision import Report, make_report
from gateval.render.page.document import render_page
from gateval.render.report.evidence import aligned
from gateval.render.view import ReportView
from tests.helpers.browser import browsing, opened
from tests.helpers.hostile import hostile_results
from tests.helpers.page import ReadPage
from tests.helpers.reports import edit, make, make_results
from tests.helpers.sample_reports import many, regressed, regressed_results, stored
from tests.helpers.trials import trace

REFUND = "#support-eval/refund-must-clarify"

ATTACKS = (
    "<script>window.broken=1</script>",
    "</script><script>window.broken=1</script>",
    "</script ><!--<script>window.broken=1//-->",
    "<img src=x onerror=window.broken=1>",
    "<svg onload=window.broken=1><animate onbegin=window.broken=1 attributeName=x>",
    "</title></style><style>*{display:none}</style><script>window.broken=1</script>",
    '" autofocus onfocus="window.broken=1" x="',
    "' onmouseover='window.broken=1",
    "<iframe srcdoc='<script>parent.broken=1</script>'></iframe><object data=x><embed src=x>",
    "<a href='javascript:window.broken=1'>x</a> javascript:window.broken=1",
    "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css><form action=https://evil.example><input>",
    "&lt;script&gt;window.broken=1&lt;/script&gt; &#60;img src=x onerror=window.broken=1&#62;",
    "{{ 7 * 7 }} {% raw %} ${window.broken=1} `${window.broken=1}` <%= 1 %>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src onerror=window.broken=1&gt;'>",
    "<template><script>window.broken=1</script></template><noscript><p title='</noscript><img src=x onerror=window.broken=1>'>",
    "]]><!--><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>&e;",
    "__proto__ constructor toString \u202e\u200b\u2028\x00\x1b[31m",
    "=HYPERLINK(\"https://evil.example\") +1+1 @SUM(1)",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


def written(report: Report, folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text(render_page(ReportView(report)), encoding="utf-8")
    return file


@pytest.fixture
def refund(tmp_path: Path) -> Path:
    return written(make_report(regressed_results()), tmp_path)


def test_hostile_text_stays_text_wherever_it_stands(browser: Browser, tmp_path: Path) -> None:
    results = hostile_results(regressed_results(), "\n".join(ATTACKS))
    file = written(make_report(results), tmp_path)
    with opened(browser, file) as shown:
        page = shown.page
        for line in ReadPage(file.read_text()).lines["fixtures"]:
            shown.go(f"#{line[0]}/{line[1]}")
            for number in range(page.locator("#fixture .bar button").count()):
                page.locator("#fixture .bar button").nth(number).click()
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            page.mouse.move(300, 300)
        with page.expect_download() as waited:
            page.get_by_role("button", name="CSV").click()
        cells = waited.value.path().read_text().splitlines()
        assert not [one for one in cells if one.startswith(("=", "+", "@", '"=', '"+', '"@'))]
        assert page.evaluate("window.broken") is None
        assert (
            page.locator("img, iframe, object, embed, base, link, form, template, math").count()
            == 0
        )
        assert page.locator("script:not([type])").count() == 0
        assert page.locator("style").count() == 1
        assert "onerror=window.broken=1" in page.locator("body").inner_text()
        assert page.evaluate("document.baseURI").startswith("file:")


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_step_is_shown_as_it_is(browser: Browser, tmp_path: Path, attack: str) -> None:
    results = make_results("a-eval f base:pass head:fail")
    steps = trace("user: go", "says: x", "says: end")
    told = (steps.steps[0], steps.steps[1].model_copy(update={"text": attack}), steps.steps[2])
    results = edit(
        results, "a-eval/f #1 on head", trace=steps.model_copy(update={"steps": told}), output="x"
    )
    with opened(browser, written(make_report(results), tmp_path), "#a-eval/f/head/1/2") as shown:
        cell = shown.page.locator("#step-head-2 pre")
        kept = "".join(one for one in cell.text_content() or "" if one.isprintable())
        plain = "".join(one for one in attack if one.isascii() and one.isprintable())
        assert kept.replace("⟦U+202E⟧⟦U+200B⟧⟦U+2028⟧⟦U+0000⟧⟦U+001B⟧", "") == plain
        assert shown.page.evaluate("window.broken") is None


def test_an_address_opens_the_step_and_the_first_difference_is_marked(
    browser: Browser, refund: Path
) -> None:
    with opened(browser, refund, f"{REFUND}/head/1/4") as shown:
        page = shown.page
        page.wait_for_selector("#step-head-4.target")
        assert (
            page.locator("#step-head-4 mark").inner_text() == '{"amount":129.0,"order_id":"A-1001"}'
        )
        assert page.locator("#step-head-4").evaluate("one => one === document.activeElement")
        first = page.locator(".row.here").inner_text()
        assert "calls lookup_order" in first
        assert "no such step on base" in first
        said = page.locator(".diverges").inner_text()
        assert (
            "At step 2 head calls lookup_order, base does not: 2 of 2 on head, 0 of 2 on base"
            in said
        )
        page.keyboard.press("d")
        assert page.evaluate("document.activeElement.id") == "step-head-2"


def test_changed_lines_of_files_stand_beside_scores_and_beside_the_first_difference(
    browser: Browser, refund: Path
) -> None:
    with opened(browser, refund, REFUND) as shown:
        page = shown.page
        article = page.locator("#changes article").first
        assert "−0.46\tsupport-eval\t0.38\t0.85" in article.inner_text()
        for place in (article, page.locator(".diverges")):
            edit = place.locator("details")
            assert edit.locator("summary").inner_text() == "src/support/tools.py"
            assert edit.locator(".cut").inner_text() == "-    return order"
            assert edit.locator(".add").is_visible()


def test_quotes_are_marked_where_they_stand_or_struck_out(browser: Browser, tmp_path: Path) -> None:
    results = regressed_results()
    head = next(
        one for one in results.trials if str(one.key).endswith("refund-must-clarify #1 on head")
    )
    judged = head.assessments[1]
    assert judged.verdict is not None
    quote = judged.verdict.violations[0].model_copy(
        update={"quote": '"order_id":\n "A-1001"', "evidence_step": 3}
    )
    verdict = judged.verdict.model_copy(
        update={"violations": (quote, judged.verdict.violations[1])}
    )
    broken = (head.assessments[0], judged.model_copy(update={"verdict": verdict}))
    results = edit(results, str(head.key), assessments=broken)
    with opened(browser, written(make_report(results), tmp_path), REFUND) as shown:
        shown.page.wait_for_selector("#step-head-3")
        assert shown.page.locator("#step-head-3 mark").inner_text() == '"order_id": "A-1001"'
        assert shown.page.locator(".quotes s").inner_text() == "You will have it within two days"


def test_rows_are_those_of_every_other_view(browser: Browser, tmp_path: Path) -> None:
    """Alignment in the browser and in Python agree."""
    head = trace(
        "user: go", "call a {}", "result a: 1", "call c {}", "says: no", "call b {}", "says: end"
    )
    base = trace("user: go", "call b {}", "call a {}", "result a: 1", "says: yes", "says: end")
    results = make_results("a-eval f base:pass head:fail")
    results = edit(results, "a-eval/f #1 on head", trace=head, output="x")
    results = edit(results, "a-eval/f #1 on base", trace=base, output="x")
    rows = [[one.number if one else 0 for one in row] for row in aligned(head.steps, base.steps)]
    with opened(browser, written(make_report(results), tmp_path), "#a-eval/f/head/1/1") as shown:
        shown.page.wait_for_selector("#step-head-1")
        found = shown.page.evaluate(
            """[...document.querySelectorAll('.row:not(.colheads)')].map(row => [...row.children]
            .map(one => Number(one.id.split('-')[2] ?? 0)))"""
        )
    assert found == rows


def test_rows_of_an_experiment_have_a_column_for_each_scorer(
    browser: Browser, tmp_path: Path
) -> None:
    report = stored("experiment")
    asked = [one.name for one in report.results.plan.evals[0].fixtures[0].assertions]
    with opened(browser, written(report, tmp_path)) as shown:
        page = shown.page
        titles = page.locator("#grid thead th").all_inner_texts()
        assert titles[-len(asked) - 1 :] == [*asked, "Why"]
        assert (
            page.locator("#grid tbody tr").first.locator("td[data-of=exactMatch]").inner_text()
            == "0.00, base 1.00"
        )
        page.get_by_label("Sort by").select_option("score: exactMatch")
        with page.expect_download() as saved:
            page.get_by_role("button", name="CSV").click()
        table = Path(saved.value.path()).read_text().splitlines()
        assert table[0].endswith(",".join(f'"{one} head","{one} base"' for one in asked))
        assert '"0.00","1.00"' in table[1]
    with opened(browser, written(regressed(), tmp_path)) as shown:
        assert shown.page.locator("#grid thead th").all_inner_texts()[-1] == "Why"


def test_another_repetition_can_be_picked(browser: Browser, refund: Path) -> None:
    with opened(browser, refund, REFUND) as shown:
        page = shown.page
        page.get_by_role("button", name="head repetition 2, failed").click()
        expect(page.locator("#fixture .colheads").first).to_contain_text("head, repetition 2")
        assert "head, repetition 2: fail in 2.7 s" in page.locator("#fixture").inner_text()


def test_filters_sort_and_keys(browser: Browser, refund: Path) -> None:
    with opened(browser, refund) as shown:
        page = shown.page
        rows = page.locator(".grid tbody tr")
        assert rows.count() == 8
        page.keyboard.press("/")
        page.keyboard.type("refund")
        assert rows.count() == 1
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        page.keyboard.press("Escape")
        page.locator(".chips button", has_text="failing").click()
        assert {one.split("\n")[0].split("\t")[0] for one in rows.all_inner_texts()} == {"failing"}
        page.locator(".chips button", has_text="failing").click()
        page.get_by_label("Sort by").select_option("name")
        assert rows.first.inner_text().count("escalates-threats")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("#t-fixture")
        assert page.locator("#t-fixture").inner_text().startswith("escalates-threats")
        page.keyboard.press("n")
        expect(page.locator("#t-fixture")).to_have_text(re.compile("^explains-halves"))
        page.keyboard.press("Escape")
        expect(page.locator("#fixture")).to_be_hidden()
        expect(page.locator(".grid a", has_text="explains-halves")).to_be_focused()
        page.keyboard.press("j")
        expect(page.locator(".grid a", has_text="greets-politely")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_everybody_can_read_it(browser: Browser, refund: Path, scheme: str, width: int) -> None:
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with opened(browser, refund, f"{REFUND}/head/1/4", bypass_csp=True, **look) as shown:
        shown.page.wait_for_selector("#step-head-4")
        shown.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert shown.page.evaluate("document.documentElement.scrollWidth") == width
        found = Axe().run(shown.page).response["violations"]
        bad = [one for one in found if one["impact"] in {"serious", "critical"}]
        assert [
            (one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"]) for one in bad
        ] == []


BEFORE = "(one) => getComputedStyle(one, '::before').content"


def test_a_phone_says_of_each_step_whose_it_is(browser: Browser, refund: Path) -> None:
    for width, said in ((1280, "none"), (320, '"head "')):
        look = {"viewport": {"width": width, "height": 800}}
        with opened(browser, refund, f"{REFUND}/head/1/4", **look) as shown:
            shown.page.wait_for_selector("#step-head-4")
            assert shown.page.locator("#step-head-4 h4").evaluate(BEFORE) == said
            assert "first difference" in shown.page.locator(".row.here").evaluate(BEFORE)
            counts = shown.page.locator(".counts > *").all()
            assert [one.inner_text() for one in counts][:2] == ["regressed 1", "does not answer 2"]
            assert all(one.evaluate("one => one.offsetHeight") < 30 for one in counts)


def test_paper_has_the_fixtures_and_whole_prompts(browser: Browser, refund: Path) -> None:
    with opened(browser, refund, REFUND) as shown:
        page = shown.page
        page.wait_for_selector("#step-head-4")
        page.emulate_media(media="print")
        expect(page.locator(".grid tbody tr")).to_have_count(8)
        expect(page.locator("table.grid")).to_be_visible()
        assert not page.locator("button:visible, select:visible, nav:visible").count()
        assert not page.locator("#fixture .bar:visible").count()


def test_paper_has_what_is_folded_and_its_colours_in_light(browser: Browser, refund: Path) -> None:
    with opened(browser, refund, REFUND, color_scheme="dark") as shown:
        page = shown.page
        page.wait_for_selector("#step-head-4")
        folded = page.locator("#more details:not([open]) > ul, #more details:not([open]) table")
        assert folded.count()
        assert not [one for one in folded.all() if one.is_visible()]
        page.emulate_media(media="print", color_scheme="dark")
        assert [one for one in folded.all() if not one.is_visible()] == []
        look = "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).color]"
        assert page.locator("body").evaluate(look) == ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]
        exact = "one => getComputedStyle(one).printColorAdjust"
        assert page.locator("#step-head-4 mark").evaluate(exact) == "exact"


def test_a_tablet_and_paper_have_all_columns_of_the_scores(
    browser: Browser, tmp_path: Path
) -> None:
    file = written(stored("regressed"), tmp_path)
    with opened(browser, file, viewport={"width": 766, "height": 900}) as shown:
        for media in ("screen", "print"):
            shown.page.emulate_media(media=media)
            wide = shown.page.locator(".wide:has(.scores)")
            assert wide.evaluate("one => one.scrollWidth - one.clientWidth") == 0, media


def test_paper_says_how_many_fixtures_it_lacks(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(many(120), tmp_path)) as shown:
        shown.page.emulate_media(media="print")
        assert "20 more are not shown." in shown.page.locator("#grid").inner_text()


def test_a_row_that_is_scored_is_not_called_passed(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(stored("experiment"), tmp_path)) as shown:
        grid = shown.page.locator("#grid")
        strips = grid.locator(".strip [role=img]")
        assert strips.first.get_attribute("aria-label") == "head: 6 scored"
        assert "◆ scored" in grid.inner_text()
        assert "● passed" not in grid.inner_text()
        changes = shown.page.locator("#more table").first.locator("tbody td:nth-child(3)")
        assert changes.all_inner_texts() == ["\N{MINUS SIGN}1.00", "0.00"]


def test_the_plot_of_judges_names_its_ends_and_what_is_asked(
    browser: Browser, tmp_path: Path
) -> None:
    with opened(browser, written(stored("judge-calibrated"), tmp_path)) as shown:
        plot = shown.page.locator(".plot", has_text="Agreement of judges")
        said = plot.locator("text").all_text_contents()
        assert [one for one in said if one[-1:].isdigit() or "asked" in one][:3] == [
            "\N{MINUS SIGN}1", "0.60 is asked", "1",
        ]  # fmt: skip


def test_the_first_screen_is_whole_without_a_program(browser: Browser, refund: Path) -> None:
    with opened(browser, refund, java_script_enabled=False) as shown:
        said = shown.page.locator("#summary").inner_text()
        assert "Passed 2 of 2 before, 0 of 2 now." in said
        assert "At step 2 head calls lookup_order" in said.replace("`", "")
        assert "need JavaScript" in shown.page.locator("#fixtures").inner_text()


def test_a_browser_without_decompression_says_what_to_do(browser: Browser, refund: Path) -> None:
    with opened(browser, refund, "") as shown:
        shown.page.evaluate("delete window.DecompressionStream")
        shown.go(REFUND)
        assert "gateval show" in shown.page.locator("#fixture").inner_text()


def test_what_was_left_out_is_said(browser: Browser, tmp_path: Path) -> None:
    report = make("a-eval f base:pass head:fail")
    text = render_page(ReportView(report))
    block = text[text.index('<script type="application/gzip" id="b0a">') :]
    block = block[: block.index("</script>") + len("</script>")]
    file = tmp_path / "report.html"
    file.write_text(text.replace(block, ""))
    with opened(browser, file) as shown:
        shown.go("#a-eval/f")
        assert "steps left out: gateval show" in shown.page.locator("#fixture").inner_text()


def test_a_wrong_address_breaks_nothing(browser: Browser, refund: Path) -> None:
    with opened(browser, refund, "#%ff/%00/head/x/<script>") as shown:
        assert "There is no fixture" in (shown.page.locator("#told").text_content() or "")
        shown.page.evaluate("location.hash = '#__proto__/constructor/head/1/999999'")
        shown.page.wait_for_timeout(50)
        assert shown.page.locator("#fixture").is_hidden()


def test_the_program_and_the_style_are_small() -> None:
    folder = Path(room.__file__).parent
    assert sum((folder / name).stat().st_size for name in ("page.js", "page.css")) < 60_000
