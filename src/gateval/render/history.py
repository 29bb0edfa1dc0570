"""Runs of Evals, sets of experiments and benchmarks, as text for a terminal and as markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gateval.domain.history.compared import (
    ComparedEval,
    ComparedScore,
    ComparedScores,
    Table,
    TableCell,
)
from gateval.domain.history.trend import Point, ScorerSeries, Wavering, scorer_series
from gateval.domain.text import (
    DASH,
    EMPTY,
    LINES,
    Safe,
    Screen,
    markdown,
    show_percent,
    show_score_in_full,
    table_line,
)
from gateval.render.plots import (
    BOTTOM,
    LEFT,
    SPARKS,
    block,
    lines_of,
    plot_of_runs,
    sparkline,
    text,
)
from gateval.render.report.scores import DOWN, SAME, UP, difference, mark, percent
from gateval.render.report.wording import count, words_of
from gateval.render.terminal.page import ROWS, TerminalReport
from gateval.safe.sanitize import inline

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette, which people with any colour vision can tell apart."""

_DASHES = ("", "6 3", "2 3")
_LEGEND = 20


def add_scorers(terminal: TerminalReport, points: Sequence[Point]) -> None:
    """Add a line for each scorer: its averages, the last of them, the difference to before."""
    rows = []
    for one in scorer_series(points):
        circle = SAME if one.delta is None else f"{mark(one.delta)}{difference(one.delta)}"
        style = {UP: "green", DOWN: "red"}.get(circle[:1], "")
        line = "".join(" " if mean is None else block(mean) for mean in one.means)
        rows.append(((one.scorer, line, percent(one.means[-1]), circle), style))
    if rows:
        terminal.table(("SCORER", "AVERAGES", "LAST", "Δ"), rows)


def render_scorers_plot(name: str, points: Sequence[Point]) -> str:
    """Return an SVG document with a line for each scorer, its legend below."""
    series = scorer_series(points)
    height = BOTTOM + _LEGEND * (len(series) + 1)
    parts = [part for number, one in enumerate(series) for part in _drawn(number, one)]
    return plot_of_runs(f"Scorers of {name}", points, parts, height=height)


def _drawn(number: int, of: ScorerSeries) -> Iterator[str]:
    color, dash = _COLORS[number % len(_COLORS)], _DASHES[number // len(_COLORS) % len(_DASHES)]
    stroke = f'fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"'
    for places in lines_of(of.means):
        yield f'<polyline points="{places}" {stroke}/>'
        for place in places.split():
            x, _, y = place.partition(",")
            yield f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>'
    down = BOTTOM + _LEGEND * (number + 0.5)
    yield f'<path d="M{LEFT} {down - 4:.1f}h28" {stroke}/>'
    yield text(LEFT + 36, down, f"{of.scorer}: {percent(of.last)}")


_CELL = 60

_AXES = {"Experiment": ("SCORER", "ROW: SCORER")}
"""What axes and criteria are called, where that is something else."""


def show_scores(terminal: TerminalReport, found: ComparedScores, names: tuple[str, str]) -> None:
    """Add the tasks that moved, all axes, and the criteria that moved."""
    if found.version[0] != found.version[1]:
        terminal.line(f"version {found.version[0]} before, {found.version[1]} after", indent=2)
    task = words_of([found.kind]).case
    axis, criterion = _AXES.get(found.kind, ("AXIS", "CRITERION"))
    _table(terminal, task.upper(), names, found.moved)
    if same := len(found.tasks) - len(found.moved):
        terminal.line(f"{same} more with equal scores", indent=2)
    _table(terminal, axis, names, found.shown_axes)
    _table(terminal, criterion, names, found.criteria)
    if found.whole.p_value is not None:
        chance = f"P {found.whole.p_value:.3f} ({found.whole.pairs} in pairs)"
        terminal.line(f"all {task}s together: {chance}", indent=2)


def _table(
    terminal: TerminalReport, title: str, names: tuple[str, str], scores: Iterable[ComparedScore]
) -> None:
    rows = [
        (
            (
                one.name,
                _score(one.before),
                _score(one.after),
                "" if one.delta is None else f"{one.delta:+.2f}",
                one.said or ("" if one.p_value is None else f"P {one.p_value:.3f}"),
            ),
            "red" if (one.delta or 0) < 0 else "green" if (one.delta or 0) > 0 else "",
        )
        for one in scores
    ]
    if rows:
        terminal.table((title, *names, "\N{INCREMENT}", ""), rows, most=ROWS)


def _score(score: float | None) -> str:
    return DASH if score is None else f"{score:.2f}"


def render_table(table: Table, screen: Screen) -> str:
    """Return the table for a terminal; a sentence where nothing was measured."""
    terminal = TerminalReport(screen)
    if not table.rows:
        terminal.line(
            "No run of a benchmark is known here. `gateval run BENCHMARK` makes the first."
        )
    else:
        rows = [((row.name, *_cells(row.cells)), "") for row in table.rows]
        terminal.table(("AGENT", *table.benchmarks), rows)
    return terminal.text()


def render_markdown(table: Table) -> Safe:
    """Return the table as GitHub markdown."""
    head = table_line([markdown("Agent"), *(inline(one, _CELL) for one in table.benchmarks)])
    rule = markdown("|---|{}", EMPTY.joined([markdown("--:|")] * len(table.benchmarks)))
    rows = [
        table_line(inline(one, _CELL) for one in (row.name, *_cells(row.cells)))
        for row in table.rows
    ]
    return markdown("{}\n", LINES.joined([head, rule, *rows]))


def _cells(cells: Sequence[TableCell | None]) -> list[str]:
    return [one.shown if one else DASH for one in cells]


_ARROW = "\N{RIGHTWARDS ARROW}"


def render_trend(name: str, points: Sequence[Point], screen: Screen) -> str:
    """Return the runs of one Eval, the newest first."""
    terminal = TerminalReport(screen)
    terminal.line(f"{name}  {sparkline(points)}", style="bold")
    first, last = points[0].at[:10], points[-1].at[:10]
    threshold = f" Threshold {_threshold(points[-1])}."
    terminal.line(f"{SPARKS} {first} to {last}.{threshold}", style="dim")
    rows = [
        (
            (
                one.at.replace("T", " ").removesuffix("Z"),
                one.revision[:7] or "working tree",
                one.event,
                show_score_in_full(one.whole_score, one.threshold),
                DASH if one.low is None else f"{one.low:.2f}\N{EN DASH}{one.high:.2f}",
                f"{DASH if one.passing is None else one.passing}/{one.total}",
                one.said,
            ),
            "red" if one.regressed or one.passed_on else "",
        )
        for one in reversed(points)
    ]
    titles = ("RUN AT (UTC)", "REVISION", "EVENT", "SCORE", "95 %", "PASSING", "")
    terminal.table(titles, rows, spare=("EVENT", "95 %"))
    add_scorers(terminal, points)
    return terminal.text()


_BESIDE_SCORES = 56
"""Columns that the other cells of an overview take beside the name."""


def _threshold(point: Point) -> str:
    return f"{point.threshold:.2f}" if point.threshold else "none"


def render_overview(series: Mapping[str, Sequence[Point]], screen: Screen) -> str:
    """Return a line for each Eval: its scores as characters, from the oldest to the newest run."""
    terminal = TerminalReport(screen)
    known = {name: points for name, points in series.items() if points}
    if not known:
        terminal.line("No run is known here. `gateval run EVAL` makes the first.")
        return terminal.text()
    room = max(10, screen.width - max(map(len, known)) - _BESIDE_SCORES)
    rows = [
        (
            (
                name,
                sparkline(points[-room:]),
                show_score_in_full(points[-1].whole_score, points[-1].threshold),
                _threshold(points[-1]),
                points[-room:][0].at[:10],
                points[-1].at[:10],
                str(len(points)),
            ),
            "",
        )
        for name, points in known.items()
    ]
    header = ("EVAL", "SCORES", "LAST", "THRESHOLD", "FROM", "TO", "RUNS")
    terminal.table(header, rows, spare=("FROM", "THRESHOLD", "TO"))
    terminal.line(SPARKS, style="dim")
    if len(known) == 1:
        add_scorers(terminal, next(iter(known.values())))
    return terminal.text()


def render_compared(evals: Sequence[ComparedEval], names: tuple[str, str], screen: Screen) -> str:
    """Return two runs side by side, fixture by fixture."""
    terminal = TerminalReport(screen)
    for one in evals:
        delta = "" if one.delta is None else f", {100 * one.delta:+.0f} points"
        before, after = (
            show_score_in_full(of.score) if of is not None else "not run" for of in one.of
        )
        title = f"{one.eval}: {names[0]} {before} {_ARROW} {names[1]} {after}{delta}"
        terminal.line(title, style="bold")
        for name, of in zip(names, one.of, strict=True):
            if of is not None:
                terminal.line(f"{name}: {of.taken}", indent=2)
        if one.otherwise:
            terminal.line(one.otherwise, indent=2)
        if one.scores is not None:
            show_scores(terminal, one.scores, names)
            continue
        rows = [
            (
                (
                    f.fixture,
                    f.before or DASH,
                    f.after or DASH,
                    "" if f.p_value is None else f"{f.p_value:.3f}",
                    f.said,
                ),
                "red" if f.worse else "",
            )
            for f in one.moved
        ]
        if rows:
            terminal.table(("FIXTURE", names[0], names[1], "P", ""), rows, most=ROWS)
        if same := len(one.fixtures) - len(one.moved):
            terminal.line(f"{same:,} more with equal results", indent=2)
        for said in one.naming:
            terminal.line(said, indent=2)
    if not evals:
        terminal.line("The two have no Eval in common.")
    else:
        scored = {one.scores is not None for one in evals}
        test = " or, of scores, ".join(_TESTS[one] for one in sorted(scored))
        terminal.line(
            f"P: the chance to look so much worse if nothing changed ({test}, one-sided)."
        )
        terminal.line(_PLANNED_ALONE)
    return terminal.text()


_PLANNED_ALONE = (
    "Only planned repetitions count: those that a run adds where something looks worse lean to one "
    "side, so a report of that run may show more."
)

_TESTS = ("Fisher", "paired permutations")
"""The test that compares passes, and the one that compares scores."""


def render_flaky(found: Sequence[Wavering], screen: Screen, *, runs: int) -> str:
    """Return the fixtures that pass now and then, the dearest first."""
    terminal = TerminalReport(screen)
    if not found:
        terminal.line(f"No fixture wavers in {count(runs, 'run')} that can be looked at.")
        return terminal.text()
    rows = [
        (
            (
                f"{one.eval}/{one.fixture}",
                f"{one.passes}/{one.trials}",
                f"{show_percent(one.low)}\N{EN DASH}{show_percent(one.high)}",
                f"{one.saves:.1f}",
                one.who,
            ),
            "",
        )
        for one in found
    ]
    terminal.table(("FIXTURE", "PASSES", "95 %", "SAVES", "WHO WAVERS"), rows)
    terminal.line("")
    terminal.line(
        "SAVES: the trials that each comparison of an unchanged agent would save if the fixture "
        "passed in 99 % of trials."
    )
    return terminal.text()
