"""Pages of many runs: how Evals went, a heat map of fixtures, one run's scores, two side by side.

They are made of the records of runs alone, so they hold names and scores and no trace, and they
need no program of their own.

The frame around them is what `gateval view` serves first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote

from gateval.domain.history.compared import ComparedEval, ComparedScore
from gateval.domain.history.run_record import RunEval, RunFixture, RunRecord
from gateval.domain.history.status import PULL_REQUESTS
from gateval.domain.history.trend import Point, trend
from gateval.domain.text import DASH, show_score, show_score_in_full, show_threshold
from gateval.render.history import render_scorers_plot
from gateval.render.page.template import environment, markup, own_file, policy
from gateval.render.plots import render_plot

HISTORY, HEAT = "index.html", "heat.html"
COLUMNS, SHOWN, POINTS = 30, 400, 50
"""Runs and fixtures of a heat map, and runs of a history."""

STYLES = ("page.css", "site.css")

Leads = Callable[[str], str]
"""The page of a run by its id, empty where there is none."""


class SiteFrame(NamedTuple):
    """What is around a page: links to the others, and `note` on what is shown."""

    links: Sequence[tuple[str, str]] = ()
    note: str = ""


class HistoryRow(NamedTuple):
    """One run of an Eval; `page` leads to it."""

    at: str
    revision: str
    event: str
    score: str
    passing: str
    verdict: str
    said: str
    page: str


class EvalHistory(NamedTuple):
    """An Eval with its runs, the newest first, and a plot of their scores."""

    name: str
    last: str
    rows: Sequence[HistoryRow]
    plot: object


class Cell(NamedTuple):
    """A fixture in a run: its sign, the class of its colour, and both in words."""

    sign: str = ""
    look: str = ""
    said: str = "not in this run"
    page: str = ""


class HeatMap(NamedTuple):
    """Fixtures of an Eval by runs, the oldest first; `left` have no row."""

    name: str
    runs: Sequence[tuple[str, str, str]]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    left: int


def evals_in(records: Iterable[RunRecord]) -> list[str]:
    """Return the Evals that were measured on what is, not on what somebody proposes."""
    return sorted(
        {
            one.eval
            for record in records
            if record.event not in PULL_REQUESTS
            for one in record.evals
        }
    )


def render_history(records: Sequence[RunRecord], leads: Leads, frame: SiteFrame) -> str:
    """Return the page of how Evals went; `records` come newest first."""
    found = []
    for name in evals_in(records):
        points = trend(records, name, limit=POINTS)
        rows = [_row(one, leads) for one in reversed(points)]
        drawn = render_scorers_plot if any(one.averages for one in points) else render_plot
        plot = markup(drawn(name, points))
        found.append(EvalHistory(name, rows[0].verdict if rows else "", rows, plot))
    return _page("History of Evals", frame, history=found)


def _row(one: Point, leads: Leads) -> HistoryRow:
    passing = DASH if one.passing is None else f"{one.passing:,} of {one.total:,}"
    return HistoryRow(
        _moment(one.at),
        one.revision[:7] or "working tree",
        one.event,
        show_score(one.whole_score, one.threshold),
        passing,
        one.verdict,
        one.said,
        leads(one.run),
    )


def render_heat(records: Iterable[RunRecord], leads: Leads, frame: SiteFrame) -> str:
    """Return the page of fixtures by runs; `records` come newest first."""
    every = [one for one in records if one.event not in PULL_REQUESTS]
    return _page(
        "Fixtures by runs", frame, heat=[_heat(name, every, leads) for name in evals_in(every)]
    )


def _heat(name: str, records: Sequence[RunRecord], leads: Leads) -> HeatMap:
    ours = ((one, run) for one in records if (run := one.eval(name)) is not None)
    runs = list(islice(ours, COLUMNS))
    fixtures = dict.fromkeys(one.fixture for _, run in runs for one in run.worst_first)
    runs.reverse()
    rows = [
        (fixture, [_cell(run.by_name.get(fixture), run, leads(one.id)) for one, run in runs])
        for fixture in list(fixtures)[:SHOWN]
    ]
    heads = [(_moment(one.at), one.revision, leads(one.id)) for one, _ in runs]
    return HeatMap(name, heads, rows, max(0, len(fixtures) - SHOWN))


_WHOLE = 0.995
"""A score from which two digits show 1."""


def _cell(one: RunFixture | None, run: RunEval, page: str) -> Cell:
    if one is None:
        return Cell()
    if one.stands:
        return Cell("\N{BLACK DOWN-POINTING TRIANGLE}", "mf", "regressed in an earlier run", page)
    names = (quote(name, safe="", errors="replace") for name in (run.eval, one.fixture))
    address = f"{page}#{'/'.join(names)}" if page else ""
    lost = len(one.trials) - one.measured
    said = f"{one.passes} of {len(one.trials)} passed"
    said += f", {lost} not measured" if lost else ""
    if one.score is not None:
        said += f", score {show_score(one.whole_score)}"
    if one.regressed:
        return Cell("\N{BLACK DOWN-POINTING TRIANGLE}", "mf", f"regressed, {said}", address)
    if not one.measured:
        return Cell("?", "mx", said, address)
    if one.score is not None:
        look = "mp" if one.score > _WHOLE else "mx" if one.score > 1 - _WHOLE else "mf"
        return Cell(f"{one.score:.2f}", look, said, address)
    if one.passes == len(one.trials):
        return Cell("\N{BLACK CIRCLE}", "mp", said, address)
    if one.passes == 0:
        return Cell("\N{MULTIPLICATION X}", "mf", said, address)
    return Cell("\N{CIRCLE WITH LEFT HALF BLACK}", "mx", said, address)


class RunPage(NamedTuple):
    """An Eval of one run; of each fixture its name, marks on head and base, and how it ended."""

    name: str
    about: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str, str, str]]
    left: int


def render_run(record: RunRecord, frame: SiteFrame) -> str:
    """Return the page of one run's scores."""
    evals = [_of_run(one) for one in record.evals]
    about = [
        ("Verdict", record.verdict.value),
        ("At", _moment(record.at)),
        ("Revision", record.commit or "the working tree"),
        ("Base", record.base),
        ("Event", record.event),
        ("Measured", record.part),
    ]
    told = [(name, value) for name, value in about if value]
    address = record.url if record.url.startswith("https://") else ""
    return _page(f"Run {record.id}", frame, run=evals, about=told, address=address)


def _of_run(one: RunEval) -> RunPage:
    about = [
        ("Agent", one.agent),
        ("Score", show_score_in_full(one.score)),
        ("Threshold", "" if one.threshold is None else show_threshold(one.threshold)),
        ("Verdict", one.verdict.value),
        *(
            (axis.name, DASH if axis.score is None else f"{axis.score:.2f}")
            for axis in one.shown_axes
        ),
    ]
    named = one.worst_first
    rows = [
        (f.fixture, _marks(f.trials, f.score), _marks(f.base, f.base_score), f.status_shown.value)
        for f in named[:SHOWN]
    ]
    return RunPage(
        one.eval, [(name, value) for name, value in about if value], rows, one.total - len(rows)
    )


_MARKS = str.maketrans(
    {"p": "\N{BLACK CIRCLE}", "f": "\N{MULTIPLICATION X}", "s": "\N{EMPTY SET}", "x": "?"}
)


def _marks(trials: str, score: float | None) -> str:
    if score is not None:
        return f"{score:.2f}"
    return trials.translate(_MARKS) or DASH


class SideBySide(NamedTuple):
    """An Eval of two runs: its scores in words, what differs, and tables of what moved."""

    name: str
    said: Sequence[str]
    tables: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]
    same: int


def render_side_by_side(
    evals: Sequence[ComparedEval],
    names: tuple[str, str],
    pages: Mapping[str, str],
    frame: SiteFrame,
) -> str:
    """Return the page of two runs or revisions; `pages` lead to those that can be opened.

    Where all Evals are of the same two runs, these are told once.
    """
    taken = dict.fromkeys(pair for one in evals for pair in _taken(one, names))
    about = list(taken) if len(taken) == len(dict(taken.keys())) else []
    found = [_side_by_side(one, names, _taken(one, names) if not about else []) for one in evals]
    title = f"{names[0]} and {names[1]}"
    more = {"pages": list(pages.items()), "names": names, "about": about}
    return _page(title, frame, compared=found, **more)


def _taken(one: ComparedEval, names: tuple[str, str]) -> list[tuple[str, str]]:
    """Return which run each side of an Eval is of."""
    return [(name, of.taken) for name, of in zip(names, one.of, strict=True) if of]


def _side_by_side(
    one: ComparedEval, names: tuple[str, str], taken: Sequence[tuple[str, str]]
) -> SideBySide:
    scores = [show_score_in_full(of.score) if of else "not run" for of in one.of]
    delta = "" if one.delta is None else f", {100 * one.delta:+.0f} points"
    said = [f"{scores[0]} \N{RIGHTWARDS ARROW} {scores[1]}{delta}", one.otherwise, *one.naming]
    said[1:1] = [f"{name}: {run}" for name, run in taken]
    if one.scores is not None:
        moved, every = one.scores.moved, len(one.scores.tasks)
        parts = (
            ("Task", moved),
            ("Axis", one.scores.shown_axes),
            ("Criterion", one.scores.criteria),
        )
        tables = [_scores(title, names, rows) for title, rows in parts if rows]
        return SideBySide(one.eval, list(filter(None, said)), tables, every - len(moved))
    rows = [
        (f.fixture, f.before or DASH, f.after or DASH, _chance(f.p_value), f.said)
        for f in one.moved
    ]
    columns = ("Fixture", *names, "P", "")
    tables = [(columns, rows)] if rows else []
    return SideBySide(
        one.eval, list(filter(None, said)), tables, len(one.fixtures) - len(one.moved)
    )


def _scores(
    title: str, names: tuple[str, str], scores: Sequence[ComparedScore]
) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    def shown(value: float | None) -> str:
        return DASH if value is None else f"{value:.2f}"

    rows = [
        (one.name, shown(one.before), shown(one.after), one.said or _chance(one.p_value))
        for one in scores
    ]
    return (title, *names, "P"), rows


def _chance(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _moment(at: str) -> str:
    return f"{at[:10]} {at[11:16]}"


def _page(title: str, frame: SiteFrame, **more: object) -> str:
    empty = {
        "history": (), "heat": (), "run": (), "compared": (), "about": (), "address": "",
        "pages": (), "names": ("", ""),
    }  # fmt: skip
    style = [markup(own_file(name)) for name in STYLES]
    template = environment().get_template("site.html.j2")
    told = {**empty, **more, "title": title, "frame": frame, "styles": style}
    return template.render(**told, kinds=[k for k in more if more[k]], policy=policy(STYLES))


def render_shell() -> str:
    """Return the frame around pages: nothing of a run is in it."""
    template = environment().get_template("view.html.j2")
    styles = [markup(own_file(name)) for name in STYLES]
    return template.render(styles=styles, script=markup(own_file("view.js")))


def shell_policy() -> str:
    """Return the policy of the frame, which the pages in it inherit beside their own."""
    return policy(
        STYLES,
        ("view.js", "page.js"),
        "connect-src 'self'; frame-src blob:; frame-ancestors 'none'; ",
    )
