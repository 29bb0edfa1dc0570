"""What `history` does: an Eval's runs as a table, JSON or a plot."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from gateval.adapters.git import open_repository
from gateval.adapters.screen import screen_of
from gateval.app.history.sources import known_runs, measured_names, unknown_eval
from gateval.domain.history.runs.rows import shown
from gateval.domain.history.runs.trend import Point, trend
from gateval.errors import EXIT_PASS, UsageError

TERMINAL = "terminal"


def show_history(
    environ: Mapping[str, str],
    name: str | None,
    *,
    plot: str | None,
    limit: int,
    as_json: bool,
    fetch: bool,
) -> int:
    """Print the runs of one Eval, or a line for each Eval. Raises `UsageError`."""
    repository = open_repository(Path.cwd(), environ, bare=True)
    runs = known_runs(repository, environ, fetch=fetch)
    if plot not in {None, TERMINAL} and name is None:
        raise UsageError("A plot is of one Eval.", hint="Name it: gateval history EVAL --plot F.")
    asked = measured_names(runs) if name is None else [name]
    series = {one: trend(runs.newest([one]), one, limit=limit) for one in asked}
    if name is not None and not series[name]:
        raise unknown_eval(name, runs, besides=", but for pull requests")
    if plot not in {None, TERMINAL} and name is not None:
        return _draw(name, series[name], Path(str(plot)))
    if as_json:
        print(json.dumps({one: [shown(p) for p in points] for one, points in series.items()}))
        return EXIT_PASS
    from gateval.render.history.runs import render_overview, render_trend

    screen = screen_of(sys.stdout, environ)
    if name is None or plot == TERMINAL:
        sys.stdout.write(render_overview(series, width=screen.width, color=screen.color))
    else:
        points = series[name]
        sys.stdout.write(render_trend(name, points, width=screen.width, color=screen.color))
    return EXIT_PASS


def _draw(name: str, points: tuple[Point, ...], path: Path) -> int:
    from gateval.app.history.drawing import write_plot
    from gateval.render.history.plot import render_plot
    from gateval.render.history.scorers import render_scorers_plot
    from gateval.render.report.words.counts import count

    scored = any(one.averages for one in points)
    drawn = render_scorers_plot(name, points) if scored else render_plot(name, points)
    write_plot(path, drawn, f"{count(len(points), 'run')} of {name}")
    return EXIT_PASS
