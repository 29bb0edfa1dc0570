"""Writing the page of a run, and reading it in Chromium: until something shows, and filtering."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.scale import Scale
from gateval.domain.decision.decision import Report, make_report
from gateval.render.page.document import render_page
from gateval.render.stage import results_pieces
from gateval.render.view import ReportView
from tests.helpers.reports import make_results
from tests.helpers.trials import trace

NAME = "report_page"
WRITE_BAR, PAINT_BAR, FILTER_BAR, SIZE_BAR = 0.3, 1.0, 0.1, 5.0
LARGE_PAINT_BAR = 3.0

_FILTER = """(word) => { const field = document.querySelector('input[type=search]');
const begun = performance.now(); field.value = word; field.dispatchEvent(new Event('input'));
document.body.offsetHeight; return performance.now() - begun; }"""
_PAINTED = "performance.getEntriesByType('paint')[0].startTime"
_WORDS = ("order", "refund", "customer", "why", "the", "reason", "money", "back", "delivered")


def report(fixtures: int, steps: int) -> Report:
    """A run of so many fixtures, three times on each side, 20 of which regressed."""
    chance = random.Random(1)

    def say(number: int) -> str:
        return " ".join(chance.choices(_WORDS, k=number))

    rows = "\n".join(
        f"a{n // 40}-eval f{n:05} base:pass,pass,pass "
        f"head:{','.join(['fail' if n < 20 else 'pass'] * 3)}"
        for n in range(fixtures)
    )
    traces = []
    for _ in range(60):
        told = [f"user: {say(10)}"]
        for at in range((steps - 2) // 2):
            told += [f'call t{at % 5} {{"q": "{say(6)}"}}', f"result t{at % 5}: {say(40)}"]
        traces.append(trace(*told, f"says: {say(30)}"))
    results = make_results(rows)
    trials = tuple(
        one.model_copy(update={"trace": chance.choice(traces), "output": "x"})
        for one in results.trials
    )
    return make_report(results.model_copy(update={"trials": trials}))


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures."""
    share = scale.fixtures / 2_000
    thousand, wide, large = (
        report(max(4, int(share * number)), steps)
        for number, steps in ((167, 10), (200, 50), (1_667, 10))
    )
    ReportView(thousand).sections  # noqa: B018 - what every view needs is known then
    page = median(_seconds(lambda: render_page(ReportView(thousand))) for _ in range(3))
    record = median(_seconds(lambda: "".join(results_pieces(thousand))) for _ in range(3))
    size = len(render_page(ReportView(large)))
    return [
        Figure(NAME, "write, 1,000 trials", page, "s", WRITE_BAR),
        Figure(NAME, "write / results.v1.json", page / record, "×"),
        Figure(NAME, "size, 10,000 trials", size / 1e6, "MB", SIZE_BAR),
        *_read("200 × 3 × 2 × 50 steps", wide, PAINT_BAR),
        *_read("10,000 trials", large, LARGE_PAINT_BAR),
    ]


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _read(title: str, shown: Report, bar: float) -> list[Figure]:
    """Open the page in Chromium; nothing where this machine has none."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return []
    from playwright.sync_api import sync_playwright

    painted, filtered = [], []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        file = Path(folder) / "report.html"
        file.write_text(render_page(ReportView(shown)), encoding="utf-8")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(3):
            page = browser.new_page()
            page.goto(file.as_uri())
            while not page.evaluate("performance.getEntriesByType('paint').length"):
                page.wait_for_timeout(10)
            painted.append(page.evaluate(_PAINTED) / 1000)
            filtered += [page.evaluate(_FILTER, word) / 1000 for word in ("f0000", "")]
            page.close()
        browser.close()
    return [
        Figure(NAME, f"first paint, {title}", median(painted), "s", bar),
        Figure(NAME, f"filter, {title}", max(filtered), "s", FILTER_BAR),
    ]
