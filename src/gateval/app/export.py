"""What `view --export` does: a static site of many runs, for GitHub Pages and the like.

It holds names and scores. With traces, the report of each run whose results lie here stands in the
place of its scores: then whoever can see the site can read what agents said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gateval.adapters.folders import made_folder, opened_folder, replace_file, write_over
from gateval.adapters.git.repository import open_repository
from gateval.adapters.machine import show_here
from gateval.adapters.results_folder import PARENTS, results_path
from gateval.app.run.views import VIEWS
from gateval.app.run_history import known_runs
from gateval.app.stored import read_results, runs_here
from gateval.domain.decision.decision import make_report
from gateval.domain.history.run_record import RunRecord, newest_of
from gateval.domain.history.status import PULL_REQUESTS
from gateval.errors import EXIT_PASS, StageFileError, UsageError
from gateval.render.badge import endpoint_badge, svg_badge
from gateval.render.page.site import (
    HEAT,
    HISTORY,
    SiteFrame,
    evals_in,
    render_heat,
    render_history,
    render_run,
)
from gateval.render.report.wording import count

_MARK = "gateval-site.json"
"""Lists what an export wrote, so that the next one may take it away."""

_RUNS = 200
_FILES = 2_000
_BACK = SiteFrame(links=(("History", f"../{HISTORY}"), ("Heat map", f"../{HEAT}")))


def export_site(environ: Mapping[str, str], folder: Path, *, traces: bool, fetch: bool) -> int:
    """Write the site into a folder that is new, empty, or an earlier site. Raises `UsageError`."""
    repository = open_repository(environ=environ)
    runs = known_runs(repository, environ, fetch=fetch)
    records = [one for one in runs.newest() if one.event not in PULL_REQUESTS][:_RUNS]
    here = frozenset(runs_here(repository.root)) if traces else frozenset[str]()
    path = results_path(repository.root, folder)
    before = _earlier(repository.root, path)
    written: list[str] = []
    for name, text in _files(repository.root, records, here):
        written.append(name)
        _write(path, name, text)
    _write(path, _MARK, json.dumps({"files": sorted(written)}) + "\n")
    for name in sorted(set(before) - set(written)):
        path.joinpath(*name.split("/")).unlink(missing_ok=True)
    what = "traces" if traces else "scores"
    print(f"{show_here(path)}: {count(len(records), 'run')}, {what}. Open {HISTORY} in it.")
    return EXIT_PASS


def _files(
    root: Path, records: Sequence[RunRecord], here: frozenset[str]
) -> Iterator[tuple[str, str]]:
    frame = SiteFrame(links=(("History", HISTORY), ("Heat map", HEAT)))
    ids = {one.id for one in records}

    def leads(run: str) -> str:
        return f"runs/{run}.html" if run in ids else ""

    yield HISTORY, render_history(records, leads, frame)
    yield HEAT, render_heat(records, leads, frame)
    yield ".nojekyll", ""
    for one in records:
        yield (
            f"runs/{one.id}.html",
            _report(root, one) if one.id in here else render_run(one, _BACK),
        )
    newest = newest_of(records, evals_in(records), lambda *_: True)
    every = [run for _, run in newest.values()]
    if every:
        yield "badge.svg", svg_badge("", every)
        yield "badge.json", endpoint_badge("", every)
    for name, (_, run) in newest.items():
        yield f"badges/{_named(name)}.svg", svg_badge(name, [run])
        yield f"badges/{_named(name)}.json", endpoint_badge(name, [run])


def _named(name: str) -> str:
    """Return a name as a file's: a record may hold any text."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name)[:100]


def _report(root: Path, record: RunRecord) -> str:
    from gateval.render.view import ReportView

    try:
        results = read_results(root.joinpath(*PARENTS, record.id))
    except StageFileError:
        return render_run(record, _BACK)
    return VIEWS["html"].render(ReportView(make_report(results)))


def _earlier(root: Path, path: Path) -> list[str]:
    """Return the files of an earlier site in a folder. Raises `UsageError` for another's."""
    with made_folder(root, path):
        there = [one.name for one in path.iterdir()]
    if not there:
        return []
    try:
        told = json.loads((path / _MARK).read_bytes())["files"]
        files = [one for one in told if isinstance(one, str)][:_FILES]
    except (OSError, ValueError, LookupError, TypeError):
        raise UsageError(
            f"{show_here(path)} is not empty, and no site of Gateval.",
            hint="Name a new or empty folder: files that are there would be mixed with the site's.",
        ) from None
    return [one for one in files if {"..", ".", ""}.isdisjoint(one.split("/"))]


def _write(path: Path, name: str, text: str) -> None:
    if "/" in name:
        write_over(path, name, text)
        return
    with opened_folder(path) as folder:
        replace_file(folder, name, text.encode())
