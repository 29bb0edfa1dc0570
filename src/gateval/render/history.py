"""Runs of Evals, sets of experiments and benchmarks, as text for a terminal and as markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gateval.domain.history.compared import (
    ComparedEval,
    ComparedRun,
    ComparedScore,
    ComparedScores,
    Table,
    TableCell,
)
from gateval.domain.history.trend import ALL, Point, Wavering
from gateval.domain.manifests.fixture import show_axis
from gateval.domain.text import DASH, listing, show_percent, show_score_in_full
from gateval.render.plots import BOTTOM, LEFT, block, lines_of, plot_of_runs, sparkline, text
from gateval.render.report.kinds import count, words_of
from gateval.render.report.scores import DOWN, SAME, UP, difference, mark, percent
from gateval.render.tables import ROWS, TerminalReport
from gateval.safe.sanitize import inline

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's palette, which people with any colour vision can tell apart."""

_DASHES = ("", "6 3", "2 3")
_LEGEND = 20

Series = Mapping[str, Sequence[float | None]]
"""By scorer: its average in each set, the oldest first, None where it has none."""


def scorer_series(points: Sequence[Point]) -> Series:
    """Return the averages of each scorer, those of the newest set first."""
    names = dict.fromkeys(a.scorer for point in reversed(points) for a in point.averages)
    means = [{one.scorer: one.mean for one in point.averages} for point in points]
    return {name: [each.get(name) for each in means] for name in names}


def add_scorers(terminal: TerminalReport, points: Sequence[Point]) -> None:
    """Add a line for each scorer: its averages, the last of them, the difference to before."""
    series = scorer_series(points)
    if not series:
        return
    rows = []
    for name, means in series.items():
        delta = _delta(means)
        circle = SAME if delta is None else f"{mark(delta)}{difference(delta)}"
        style = {UP: "green", DOWN: "red"}.get(circle[:1], "")
        line = "".join(" " if mean is None else block(mean) for mean in means)
        rows.append(((name, line, percent(means[-1]), circle), style))
    terminal.table(("SCORER", "AVERAGES", "LAST", "Δ"), rows)


def _delta(means: Sequence[float | None]) -> float | None:
    """Return the difference of the last set to the one before."""
    if len(means) < 2 or means[-1] is None or means[-2] is None:
        return None
    return means[-1] - means[-2]


def render_scorers_plot(name: str, points: Sequence[Point]) -> str:
    """Return an SVG document with a line for each scorer, its legend below."""
    series = scorer_series(points)
    height = BOTTOM + _LEGEND * (len(series) + 1)
    parts = [
        part
        for number, (scorer, means) in enumerate(series.items())
        for part in _drawn(number, scorer, means)
    ]
    return plot_of_runs(f"Scorers of {name}", points, parts, height=height)


def _drawn(number: int, scorer: str, means: Sequence[float | None]) -> Iterator[str]:
    color, dash = _COLORS[number % len(_COLORS)], _DASHES[number // len(_COLORS) % len(_DASHES)]
    stroke = f'fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"'
    for places in lines_of(means):
        yield f'<polyline points="{places}" {stroke}/>'
        for place in places.split():
            x, _, y = place.partition(",")
            yield f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>'
    down = BOTTOM + _LEGEND * (number + 0.5)
    yield f'<path d="M{LEFT} {down - 4:.1f}h28" {stroke}/>'
    last = next((one for one in reversed(means) if one is not None), None)
    yield text(LEFT + 36, down, f"{scorer}: {percent(last)}")


_CELL = 60

_AXES = {"Experiment": ("SCORER", "ROW: SCORER")}
"""What axes and criteria are called, where that is something else."""


def show_scores(terminal: TerminalReport, found: ComparedScores, names: tuple[str, str]) -> None:
    """Add the tasks that moved, all axes, and the criteria that moved."""
    if found.version[0] != found.version[1]:
        terminal.line(f"version {found.version[0]} before, {found.version[1]} after", indent=2)
    moved = [one for one in found.tasks if one.delta or one.said]
    task = words_of([found.kind]).case
    axis, criterion = _AXES.get(found.kind, ("AXIS", "CRITERION"))
    _table(terminal, task.upper(), names, moved)
    if same := len(found.tasks) - len(moved):
        terminal.line(f"{same} more with equal scores", indent=2)
    axes = [one.model_copy(update={"name": show_axis(one.name)}) for one in found.axes]
    if len(axes) > 1:
        _table(terminal, axis, names, axes)
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


def render_table(table: Table, *, width: int, color: bool) -> str:
    """Return the table for a terminal; a sentence where nothing was measured."""
    terminal = TerminalReport(width, color=color)
    if not table.rows:
        terminal.line(
            "No run of a benchmark is known here. `gateval run BENCHMARK` makes the first."
        )
    else:
        rows = [((row.name, *_cells(row.cells)), "") for row in table.rows]
        terminal.table(("AGENT", *table.benchmarks), rows)
    return terminal.text()


def render_markdown(table: Table) -> str:
    """Return the table as GitHub markdown."""
    head = ["Agent", *(inline(one, _CELL) for one in table.benchmarks)]
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * len(table.benchmarks)}"]
    for row in table.rows:
        cells = [inline(one, _CELL) for one in (row.name, *_cells(row.cells))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(cells: Sequence[TableCell | None]) -> list[str]:
    return [one.shown if one else DASH for one in cells]


_ARROW = "\N{RIGHTWARDS ARROW}"


def render_trend(name: str, points: Sequence[Point], *, width: int, color: bool) -> str:
    """Return the runs of one Eval, the newest first."""
    terminal = TerminalReport(width, color=color)
    terminal.line(f"{name}  {sparkline(points)}", style="bold")
    rows = [
        (
            (
                one.at.replace("T", " ").removesuffix("Z"),
                one.revision[:7] or "working tree",
                one.event,
                show_score_in_full(one.whole_score, one.threshold),
                DASH if one.low is None else f"{one.low:.2f}\N{EN DASH}{one.high:.2f}",
                f"{DASH if one.passing is None else one.passing}/{one.total}",
                _said(one),
            ),
            "red" if one.regressed or one.passed_on else "",
        )
        for one in reversed(points)
    ]
    terminal.table(("RUN AT (UTC)", "REVISION", "EVENT", "SCORE", "95 %", "PASSING", ""), rows)
    add_scorers(terminal, points)
    return terminal.text()


def render_overview(series: Mapping[str, Sequence[Point]], *, width: int, color: bool) -> str:
    """Return a line for each Eval: its scores as characters, from the oldest to the newest run."""
    terminal = TerminalReport(width, color=color)
    known = {name: points for name, points in series.items() if points}
    if not known:
        terminal.line("No run is known here. `gateval run EVAL` makes the first.")
        return terminal.text()
    room = max(10, width - 2 - max(map(len, known)) - 30)
    rows = [
        (
            (
                name,
                sparkline(points[-room:]),
                show_score_in_full(points[-1].whole_score, points[-1].threshold),
                points[-1].at[:10],
                str(len(points)),
            ),
            "",
        )
        for name, points in known.items()
    ]
    terminal.table(("EVAL", "SCORES", "LAST", "ON", "RUNS"), rows)
    if len(known) == 1:
        add_scorers(terminal, next(iter(known.values())))
    return terminal.text()


def _said(point: Point) -> str:
    names = ["all together" if one == ALL else one for one in point.regressed]
    if names:
        where = f" since {point.base[:7]}" if point.base else ""
        return f"regressed{where}: {listing(names, 4)}"
    if point.passed_on:
        return f"fails; passed on {point.passed_on[:7]}"
    if point.verdict not in {"pass", "fail"}:
        return "not measured"
    said = ["fails"] if point.verdict == "fail" else []
    return ", ".join([*said, *(["agent changed"] if point.changed else [])])


def render_compared(
    evals: Sequence[ComparedEval], names: tuple[str, str], *, width: int, color: bool
) -> str:
    """Return two runs side by side, fixture by fixture."""
    terminal = TerminalReport(width, color=color)
    for one in evals:
        delta = "" if one.delta is None else f", {100 * one.delta:+.0f} points"
        before, after = (
            show_score_in_full(of.score) if of is not None else "not run" for of in one.of
        )
        title = f"{one.eval}: {names[0]} {before} {_ARROW} {names[1]} {after}{delta}"
        terminal.line(title, style="bold")
        for name, of in zip(names, one.of, strict=True):
            if of is not None:
                terminal.line(f"{name}: {_taken(of)}", indent=2)
        if one.otherwise:
            terminal.line(one.otherwise, indent=2)
        if one.scores is not None:
            show_scores(terminal, one.scores, names)
            continue
        moved = [fixture for fixture in one.fixtures if fixture.differs]
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
            for f in moved
        ]
        if rows:
            terminal.table(("FIXTURE", names[0], names[1], "P", ""), rows, most=ROWS)
        same = len(one.fixtures) - len(moved)
        if same:
            terminal.line(f"{same:,} more with equal results", indent=2)
        for of in {of: None for of in one.of if of is not None and of.others}:
            terminal.line(_listed(of), indent=2)
    if not evals:
        terminal.line("The two have no Eval in common.")
    else:
        scored = {one.scores is not None for one in evals}
        test = " or, of scores, ".join(_TESTS[one] for one in sorted(scored))
        terminal.line(
            f"P: the chance to look so much worse if nothing changed ({test}, one-sided)."
        )
    return terminal.text()


_TESTS = ("Fisher", "paired permutations")
"""The test that compares passes, and the one that compares scores."""


def _taken(of: ComparedRun) -> str:
    """Say which run stands for a revision."""
    run = f"the run {of.run} ({of.at[:16].replace('T', ' ')})"
    said = f"base of {run}" if of.as_base else run
    if not of.complete:
        return f"{said}, not complete"
    if not of.newer:
        return said
    return f"{said}, the newest that is complete; left out: {', '.join(of.newer)}"


def _listed(of: ComparedRun) -> str:
    """Say which part of its fixtures a run names."""
    more = f", and {of.beyond:,} more that did not pass" if of.beyond else ""
    others = "all others passed" if of.others == "passed" else "how the others ended is not kept"
    return f"{of.run} lists {of.listed:,} of {of.total:,} fixtures{more}; {others}."


def render_flaky(found: Sequence[Wavering], *, runs: int, width: int, color: bool) -> str:
    """Return the fixtures that pass now and then, the dearest first."""
    terminal = TerminalReport(width, color=color)
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
