"""Runs of Evals as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gateval.domain.history.compared.runs import ComparedEval, ComparedRun
from gateval.domain.history.runs.flakiness import Wavering
from gateval.domain.history.runs.trend import ALL, Point
from gateval.domain.score import score_of
from gateval.domain.text.figures import DASH, show_percent, show_score
from gateval.render.history.plot import sparkline
from gateval.render.history.scorers import add_scorers
from gateval.render.history.scores import show_scores
from gateval.render.history.sheet import Sheet
from gateval.render.report.words.counts import count

_ARROW = "\N{RIGHTWARDS ARROW}"


def render_trend(name: str, points: Sequence[Point], *, width: int, color: bool) -> str:
    """Return the runs of one Eval, the newest first."""
    sheet = Sheet(width, color=color)
    sheet.line(f"{name}  {sparkline(points)}", style="bold")
    rows = [
        (
            (
                one.at.replace("T", " ").removesuffix("Z"),
                one.revision[:7] or "working tree",
                one.event,
                show_score(score_of(one.score, one.score), one.threshold),
                DASH if one.low is None else f"{one.low:.2f}\N{EN DASH}{one.high:.2f}",
                f"{_passing(one)}/{one.total}",
                _said(one),
            ),
            "red" if one.regressed or one.passed_on else "",
        )
        for one in reversed(points)
    ]
    sheet.table(("RUN AT (UTC)", "REVISION", "EVENT", "SCORE", "95 %", "PASSING", ""), rows)
    add_scorers(sheet, points)
    return sheet.text()


def render_overview(series: Mapping[str, Sequence[Point]], *, width: int, color: bool) -> str:
    """Return a line for each Eval: its scores as characters, from the oldest to the newest run."""
    sheet = Sheet(width, color=color)
    known = {name: points for name, points in series.items() if points}
    if not known:
        sheet.line("No run is known here. `gateval run EVAL` makes the first.")
        return sheet.text()
    room = max(10, width - 2 - max(map(len, known)) - 30)
    rows = [
        (
            (
                name,
                sparkline(points[-room:]),
                show_score(score_of(points[-1].score, points[-1].score), points[-1].threshold),
                points[-1].at[:10],
                str(len(points)),
            ),
            "",
        )
        for name, points in known.items()
    ]
    sheet.table(("EVAL", "SCORES", "LAST", "ON", "RUNS"), rows)
    if len(known) == 1:
        add_scorers(sheet, next(iter(known.values())))
    return sheet.text()


def _passing(point: Point) -> str:
    return DASH if point.score is None or point.passing is None else str(point.passing)


def _said(point: Point) -> str:
    names = ["all together" if one == ALL else one for one in point.regressed]
    if names:
        where = f" since {point.base[:7]}" if point.base else ""
        return f"regressed{where}: {', '.join(names)}"
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
    sheet = Sheet(width, color=color)
    for one in evals:
        delta = "" if one.delta is None else f", {100 * one.delta:+.0f} points"
        before, after = (
            show_score(score_of(of.low, of.high)) if of is not None else "not run" for of in one.of
        )
        title = f"{one.eval}: {names[0]} {before} {_ARROW} {names[1]} {after}{delta}"
        sheet.line(title, style="bold")
        for name, of in zip(names, one.of, strict=True):
            if of is not None:
                sheet.line(f"{name}: {_taken(of)}", indent=2)
        if one.otherwise:
            sheet.line(one.otherwise, indent=2)
        if one.scores is not None:
            show_scores(sheet, one.scores, names)
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
            sheet.table(("FIXTURE", names[0], names[1], "P", ""), rows)
        same = len(one.fixtures) - len(moved)
        if same:
            sheet.line(f"{same:,} more with equal results", indent=2)
        for of in {of: None for of in one.of if of is not None and of.others}:
            sheet.line(_listed(of), indent=2)
    if not evals:
        sheet.line("The two have no Eval in common.")
    else:
        passes = any(one.scores is None for one in evals)
        test = "Fisher" if passes else "paired permutations"
        sheet.line(f"P: the chance to look so much worse if nothing changed ({test}, one-sided).")
    return sheet.text()


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
    sheet = Sheet(width, color=color)
    if not found:
        sheet.line(f"No fixture wavers in {count(runs, 'run')} that can be looked at.")
        return sheet.text()
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
    sheet.table(("FIXTURE", "PASSES", "95 %", "SAVES", "WHO WAVERS"), rows)
    sheet.line("")
    sheet.line(
        "SAVES: the trials that each comparison of an unchanged agent would save if the fixture "
        "passed in 99 % of trials."
    )
    return sheet.text()
