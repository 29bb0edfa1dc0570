"""The comment through GitHub's own markdown parser: strangers' text stays text."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from gateval.domain.decision.decision import Report, make_report
from gateval.render.comment import render_comment
from gateval.render.report.wording import GLOSSARY
from gateval.render.view import ReportView
from gateval.safe.sanitize import block, code, inline
from tests.helpers import sample_reports
from tests.helpers.browser import browsing, launched, opened
from tests.helpers.github_markdown import FRAME, ON_GITHUB, as_shown, read
from tests.helpers.golden_pictures import (
    CELLS,
    SCALE,
    Picture,
    difference,
    read_png,
    write_png,
)
from tests.helpers.hostile import ATTACK, ATTACKS, hostile_results
from tests.helpers.reports import edit_plan
from tests.helpers.tiers import examples

OURS = {
    "h3", "h4", "p", "ul", "li", "strong", "code", "pre", "sub", "blockquote", "span",
    "details", "summary", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
"""What the templates make, and nothing else: no link, image, input, heading 1 or 2, script."""

SAMPLES: dict[str, Callable[[], Report]] = {
    "regressed": sample_reports.regressed,
    "passing": sample_reports.passing,
    "nothing": sample_reports.nothing,
    "provider down": sample_reports.provider_down,
    "incomplete": sample_reports.incomplete,
    "warned": sample_reports.warned,
    "1000 failing fixtures": lambda: sample_reports.many(1000),
    "hostile": sample_reports.hostile,
    **{
        f"only {line[:12]!r}": lambda line=line: make_report(  # type: ignore[misc] # mypy cannot type a default of a lambda
            hostile_results(sample_reports.regressed_results(), line)
        )
        for line in ATTACKS
    },
}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_only_our_own_elements_come_out(sample: Callable[[], Report]) -> None:
    page = read(render_comment(ReportView(sample())))

    assert set(page.tags) <= {*OURS, "a"}
    assert page.tags.count("a") == 1, "what the words mean"
    assert page.balanced
    assert page.comments == 3, "the marker, and the lines above and below what the evals found"
    assert page.tags.count("h3") <= 8
    assert set(page.rows) <= {8, 7, 5, 4}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
def test_nothing_in_it_calls_anyone(sample: Callable[[], Report]) -> None:
    """GitHub looks at the rendered text, bots at the raw one: neither finds a trigger."""
    raw = render_comment(ReportView(sample()))
    page = read(raw)
    assert raw.count(GLOSSARY) == 1
    for text in (raw.replace(GLOSSARY, ""), page.prose, page.code):
        assert not re.search(r"@[\w-]", text)
        assert not re.search(r"(?<!&)#\d|(?i:\bgh-\d)|://|\bwww\.", text)
        assert not re.search(r"(?i)\b(?:fixes|closes|resolves)\s+\S*(?:#|GH-)", text)
        assert not re.search(r"(?im)^\s*/[a-z]+(?:\s|$)", text)
        assert not re.search(r"(?i)\bbors r|\bok to test|\bretest this please", text)
    assert raw.count("<!--") == 3, "the marker, and the lines above and below what the evals found"
    assert ":shipit:" not in page.prose


def test_as_many_headings_and_folds_as_with_friendly_text() -> None:
    friendly = sample_reports.regressed_results()
    plan = hostile_results(friendly).plan
    friendly = edit_plan(friendly, removed=plan.removed, warnings=("x", "y"))

    wanted = read(render_comment(ReportView(make_report(friendly)))).tags
    found = read(render_comment(ReportView(sample_reports.hostile()))).tags
    for tag in ("h3", "h4", "details", "table", "tr", "th", "td", "pre", "blockquote"):
        assert found.count(tag) == wanted.count(tag), tag


def test_quotes_read_as_they_were_said() -> None:
    page = read(render_comment(ReportView(sample_reports.regressed())))

    assert 'refund_order {"amount": 129.0, "order_id": "A-1001"}' in page.prose
    assert "✓ Quote found in step 4." in page.prose
    assert "✗ Quote not found in step 6; does not count." in page.prose


PIECES = st.sampled_from(
    (
        *ATTACKS,
        *"\\`*_[]()<>#+-.!|~&$:;@/'\"= \n\t",
        "1.", "a", "word", "[a]: b", "<a href=x>", "&lt;", "&#64;", "]()", "![", "```", "~~~",
        "https://", "www.", "    code", "<!--", "-->", "<?x", "<![CDATA[", "\u200b", "\x1b[",
    )
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join)

PLACES = (
    ("{}", {"p"}),
    ("- {}", {"ul", "li"}),
    ("> {}", {"blockquote", "p"}),
    ("#### {}", {"h4"}),
    ("**{}**", {"p", "strong"}),
    ("<details><summary>{}</summary>\n\nx\n\n</details>", {"details", "summary", "p"}),
    ("| a | b |\n|---|---|\n| {} | x |", {"table", "thead", "tbody", "tr", "th", "td"}),
    ("before\n{}", {"p"}),
)


@settings(max_examples=examples(200), deadline=None)
@given(text=TEXTS, place=st.sampled_from(PLACES))
def test_inline_text_is_text_wherever_it_stands(text: str, place: tuple[str, set[str]]) -> None:
    template, tags = place
    shown = inline(f"x{text}" if template == "**{}**" else text, 500)

    page = read(template.format(shown))

    assert set(page.tags) <= tags | {"span", "code"}
    assert page.balanced
    assert not page.rows or set(page.rows) == {2}


@settings(max_examples=examples(100), deadline=None)
@given(text=TEXTS)
def test_a_block_holds_everything_that_is_in_it(text: str) -> None:
    page = read(f"before\n\n{block(text, 1000)}\n\nafter")

    assert page.tags == ("p", "pre", "code", "p")
    assert "".join(page.prose.split()) == "beforeafter"


@settings(max_examples=examples(100), deadline=None)
@given(text=TEXTS)
def test_code_shows_its_text_as_code(text: str) -> None:
    page = read(f"before {code(text, 1000)} after")

    assert set(page.tags) <= {"p", "code", "span"}
    assert " ".join(page.prose.split()) == "before after"


def test_what_is_shown_reads_like_what_was_said() -> None:
    lines = [line for line in ATTACKS if line.isascii() and not {"\x1b", "`"} & set(line)]
    for line in lines:
        page = read(str(inline(line, 1000)))
        assert page.prose.replace("\u200b", "").split() == line.split()
    assert ATTACK.startswith(lines[0])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


SHOWN = """() => [...document.querySelectorAll("table")].map(table => ({
  columns: Object.fromEntries([...table.querySelectorAll("th")].map(
    one => [one.innerText, one.getBoundingClientRect().right])),
  needs: table.scrollWidth, has: table.clientWidth,
}))"""
"""Where the columns of each table end, how wide it is, and how much of that is seen."""


CUT = """() => { const right = document.querySelector(".comment").getBoundingClientRect().right;
const shown = [...document.querySelectorAll(".comment *")].filter(
  one => one.checkVisibility() && !one.closest("table, pre"));
return shown.filter(one => one.getBoundingClientRect().right > right).map(one => one.outerHTML); }"""
"""What of the comment, tables and blocks aside, ends beyond its border."""

BELOW = """one => one.getBoundingClientRect().bottom + scrollY"""


GOLDEN = Path(__file__).parent / "pictures"
"""What comments look like: `make pictures` draws them anew, and so does `--snapshot-update`."""


def picture(page: Page) -> Picture:
    return read_png(page.screenshot(full_page=True))._replace(cells=page.evaluate(CELLS))


def name_of(case: str, width: int) -> str:
    return f"{re.sub(r'[^a-z0-9]+', '-', case.lower())}-{width}.png"


@pytest.mark.parametrize("case", ON_GITHUB)
def test_it_is_seen_whole_on_a_desk_and_what_matters_on_a_phone(
    case: str, browser: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    anew = request.config.getoption("--snapshot-update") or os.environ.get("GATEVAL_PICTURES")
    file = tmp_path / "comment.html"
    file.write_text(as_shown(render_comment(ReportView(ON_GITHUB[case](), FRAME))))
    for width in (766, 360):
        size = {"width": width, "height": 900}
        with opened(browser, file, viewport=size, device_scale_factor=SCALE) as shown:
            page = shown.page
            seen, golden = picture(page), GOLDEN / name_of(case, width)
            if anew:
                golden.parent.mkdir(exist_ok=True)
                golden.write_bytes(write_png(seen))
            assert golden.is_file(), "run with --snapshot-update, look at it, and commit it"
            short = case != "long names"
            assert difference(read_png(golden.read_bytes()), seen, short=short) == ""
            tables = page.evaluate(SHOWN)
            folds = page.locator("body > .comment > details")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert not page.locator("details[open]").count()
            for table in tables:
                assert width == 360 or table["needs"] <= table["has"], "nobody has to scroll"
            for table in tables[:1]:
                columns = table["columns"]
                if "Verdict" in columns:
                    assert next(iter(columns)) == "Verdict"
                    assert columns["Δ"] <= width - 15
            assert folds.last.locator("summary").inner_text() == "Commands to copy"
            assert page.evaluate(CUT) == []
            titles = page.locator("h3").all_inner_texts()
            if "Regressed" in titles:
                assert titles[1] == "Regressed"
                if case != "long names":
                    first = page.locator("h3:has-text('Regressed') ~ p strong").first
                    assert first.evaluate(BELOW) < {766: 1, 360: 2}[width] * 900


CHANGES = {
    "moved down": "one => { one.style.paddingTop = '48px' }",
    "moved right": "one => { one.style.marginLeft = '60px' }",
    "cut": "one => { one.style.width = '50%'; one.style.overflow = 'hidden' }",
    "gone": "one => one.remove()",
}


def test_a_block_that_is_moved_cut_or_gone_is_another_picture(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "comment.html"
    file.write_text(as_shown(render_comment(ReportView(ON_GITHUB["1 regression"](), FRAME))))
    for width in (766, 360):
        golden = read_png((GOLDEN / name_of("1 regression", width)).read_bytes())
        size = {"width": width, "height": 900}
        for change in CHANGES.values():
            with opened(browser, file, viewport=size, device_scale_factor=SCALE) as shown:
                shown.page.locator(".comment > ul").first.evaluate(change)
                assert difference(golden, picture(shown.page)) != "", (width, change)


SHORT = "h3, h4, summary, .comment > p, .comment > ul > li"
"""Blocks of a few words, some of which are hidden in folds."""


def test_a_short_block_that_is_moved_by_40_pixels_is_another_picture(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "comment.html"
    file.write_text(as_shown(render_comment(ReportView(ON_GITHUB["1 regression"](), FRAME))))
    move = "(one, side) => { one.style.position = 'relative'; one.style[side] = '40px' }"
    for width in (766, 360):
        golden = read_png((GOLDEN / name_of("1 regression", width)).read_bytes())
        size = {"width": width, "height": 900}
        with opened(browser, file, viewport=size, device_scale_factor=SCALE) as shown:
            shown.page.add_style_tag(content="body { overflow-x: hidden }")
            assert difference(golden, picture(shown.page)) == ""
            found = [one for one in shown.page.locator(SHORT).all() if one.is_visible()]
            for one in found[::6]:
                for side in ("left", "top"):
                    one.evaluate(move, side)
                    assert difference(golden, picture(shown.page)), (width, one.inner_text(), side)
                    one.evaluate("one => one.removeAttribute('style')")


MOVED = f"""() => [...document.querySelectorAll("th, td")].filter(one => one.checkVisibility())
  .flatMap(one => ["left", "right", "top", "bottom"].map(side => {{
    one.style.cssText = `position: relative; ${{side}}: 40px`;
    const cells = ({CELLS})();
    one.removeAttribute("style");
    return [one.innerText, side, cells];
  }}))"""
"""What `CELLS` says of a page when each cell that is shown is moved to each side."""


def test_a_cell_of_a_table_that_is_moved_by_40_pixels_is_another_picture(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "comment.html"
    for case in ("1 regression", "experiment", "three agents judged"):
        file.write_text(as_shown(render_comment(ReportView(ON_GITHUB[case](), FRAME))))
        for width in (766, 360):
            golden = read_png((GOLDEN / name_of(case, width)).read_bytes())
            size = {"width": width, "height": 900}
            with opened(browser, file, viewport=size, device_scale_factor=SCALE) as shown:
                seen = picture(shown.page)
                assert difference(golden, seen) == ""
                found = shown.page.evaluate(MOVED)
                assert len(found) / 4 == len(golden.cells) >= 8
                for text, side, cells in found:
                    said = difference(golden, seen._replace(cells=cells))
                    assert "the words of cell" in said, (case, width, text, side)


def test_letters_that_are_drawn_otherwise_are_the_same_picture(
    browser: Browser, tmp_path: Path
) -> None:
    """As another version of the browser draws them: no hinting, no places between pixels."""
    file = tmp_path / "comment.html"
    file.write_text(as_shown(render_comment(ReportView(ON_GITHUB["1 regression"](), FRAME))))
    other = ("--font-render-hinting=none", "--disable-font-subpixel-positioning")
    drawing = launched(browser.browser_type, *other)
    for width in (766, 360):
        golden = read_png((GOLDEN / name_of("1 regression", width)).read_bytes())
        size = {"width": width, "height": 900}
        with opened(drawing, file, viewport=size, device_scale_factor=SCALE) as shown:
            assert difference(golden, picture(shown.page)) == ""
    drawing.close()


def test_the_pictures_are_small_and_none_is_left_over() -> None:
    names = {name_of(case, width) for case in ON_GITHUB for width in (766, 360)}
    assert {one.name for one in GOLDEN.iterdir()} == names
    assert sum(one.stat().st_size for one in GOLDEN.iterdir()) < 600_000
