"""What `compare`, `flaky` and `history` do: they read what was measured before and measure
nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from gateval.adapters.folders import opened_folder, replace_file
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import screen_of
from gateval.app.run.views import RUN_IS
from gateval.app.run_history import Runs, known_runs, measured_names, record_in, unknown_eval
from gateval.domain.history.compared import ComparedRecord, compare_runs, measured_on, table_of
from gateval.domain.history.run_record import RunRecord
from gateval.domain.history.status import PULL_REQUESTS, shown
from gateval.domain.history.trend import Point, trend, wavering
from gateval.domain.paths import show_path
from gateval.errors import EXIT_PASS, GatevalError, UsageError

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
    repository = open_repository(environ=environ, bare=True)
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
    from gateval.render.history import render_overview, render_trend

    screen = screen_of(sys.stdout, environ)
    if name is None or plot == TERMINAL:
        sys.stdout.write(render_overview(series, screen))
    else:
        points = series[name]
        sys.stdout.write(render_trend(name, points, screen))
    return EXIT_PASS


def _draw(name: str, points: tuple[Point, ...], path: Path) -> int:
    from gateval.render.history import render_scorers_plot
    from gateval.render.plots import render_plot
    from gateval.render.report.wording import count

    scored = any(one.averages for one in points)
    drawn = render_scorers_plot(name, points) if scored else render_plot(name, points)
    write_plot(path, drawn, f"{count(len(points), 'run')} of {name}")
    return EXIT_PASS


def write_plot(path: Path, text: str, said: str = "") -> None:
    """Write an SVG document and say where. Raises `UsageError` where that cannot be."""
    try:
        with opened_folder(path.parent) as folder:
            replace_file(folder, path.name, text.encode())
    except OSError as error:
        raise UsageError(f"{show_path(str(path))} cannot be written: {error.strerror}.") from error
    print(f"{path}{f': {said}' if said else ''}.", file=sys.stderr)


OfCommit: TypeAlias = Callable[[str, Iterable[RunRecord]], Iterable[ComparedRecord]]


def show_comparison(
    environ: Mapping[str, str], first: str, second: str, *, as_json: bool, fetch: bool
) -> int:
    """Compare two revisions, runs or results folders. Raises `UsageError` for what has no run."""
    repository = open_repository(environ=environ)
    runs = known_runs(repository, environ, fetch=fetch)
    found = compare_runs(runs_of(first, repository, runs), runs_of(second, repository, runs))
    if as_json:
        print(json.dumps([shown(one) | {"delta": one.delta} for one in found]))
        return EXIT_PASS
    from gateval.render.history import render_compared

    screen, names = screen_of(sys.stdout, environ), (_short(first), _short(second))
    sys.stdout.write(render_compared(found, names, screen))
    return EXIT_PASS


def show_table(
    environ: Mapping[str, str],
    words: Sequence[str],
    *,
    form: str,
    plot: str | None,
    fetch: bool,
) -> int:
    """Print Agents and benchmarks of these runs, or of the newest ones, as a table; draw a plot."""
    repository = open_repository(environ=environ)
    runs = known_runs(repository, environ, fetch=fetch)
    proposed = PULL_REQUESTS  # what somebody proposes is no Agent's score, unless it is named
    named = [[of.record for of in runs_of(word, repository, runs, _heads)] for word in words]
    named = named or [[one for one in runs.newest() if one.event not in proposed]]
    table = table_of(named)
    if plot is not None:
        from gateval.render.plots import render_bars

        write_plot(Path(plot), render_bars(table))
    if form == "json":
        print(json.dumps(table.as_json(), indent=2))
        return EXIT_PASS
    from gateval.render.history import render_markdown, render_table

    if form == "markdown":
        sys.stdout.write(render_markdown(table))
    else:
        screen = screen_of(sys.stdout, environ)
        sys.stdout.write(render_table(table, screen))
    return EXIT_PASS


def show_flaky(environ: Mapping[str, str], name: str | None, *, as_json: bool, fetch: bool) -> int:
    """Print the fixtures that waver, what costs most first."""
    repository = open_repository(environ=environ, bare=True)
    known = known_runs(repository, environ, fetch=fetch)
    runs = list(known.newest([name] if name else ()))
    if name is not None and not any(record.eval(name) for record in runs):
        raise unknown_eval(name, known)
    found = wavering(runs, name)
    if as_json:
        print(json.dumps([shown(one) for one in found]))
        return EXIT_PASS
    from gateval.render.history import render_flaky

    screen = screen_of(sys.stdout, environ)
    text = render_flaky(found, screen, runs=len(runs))
    sys.stdout.write(text)
    return EXIT_PASS


def _heads(commit: str, records: Iterable[RunRecord]) -> Iterable[ComparedRecord]:
    """The runs that measured a commit as head: a table has a row for each."""
    return (ComparedRecord(one) for one in records if one.commit == commit)


def runs_of(
    word: str, repository: GitRepository, runs: Runs, of_commit: OfCommit = measured_on
) -> list[ComparedRecord]:
    """Return the runs that a word means: a folder, the id of a run, or a revision."""
    path = Path(word) if Path(word).is_dir() else Path(word).parent
    if Path(word).exists() and (record := record_in(path)) is not None:
        return [ComparedRecord(_whole(record))]
    known = list(runs.all())
    named = [record for record in known if record.id == word]
    if named:
        return [ComparedRecord(_whole(record)) for record in named]
    known = [record for record in known if not record.part]
    try:
        commit = repository.resolve(word).commit
    except GatevalError:
        commit = None
    found = list(of_commit(commit, known)) if commit else []
    if not found:
        what = (
            f"Commit {commit[:7]} was never measured, as far as is known here."
            if commit
            else f"{show_path(word)} is no revision, run or folder of results that is known here."
        )
        raise UsageError(
            what,
            hint="Name a revision that was measured (`gateval history EVAL` lists them) or a run. "
            f"{RUN_IS} --fetch reads the runs in CI anew.",
        )
    return found


def _whole(record: RunRecord) -> RunRecord:
    """Return a run that somebody named. Raises `UsageError` where it measured a part only."""
    if record.part:
        raise UsageError(
            f"The run {record.id} measured a part only ({record.part}), so it is not compared.",
            hint="What was picked says nothing of the whole. `gateval check` without --failed, "
            "--agent, --eval and --fixture, or `gateval run EVAL`, measures all; `gateval show` "
            "shows the trials of any run.",
        )
    return record


def _short(word: str) -> str:
    """Return what a side is called: of a file of results, its folder."""
    path = Path(word).parent if Path(word).is_file() else Path(word)
    return word[:7] if len(word) == 40 else path.name or word
