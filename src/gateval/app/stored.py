"""What `report` does: views of results that were stored before, by a whole run or a crashed one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gateval.adapters.git.repository import open_repository
from gateval.adapters.machine import SystemClock, screen_of
from gateval.adapters.results_folder import PARENTS, create_results_folder, run_folders
from gateval.adapters.store import stored_trials
from gateval.app.run.finished import finished_results
from gateval.app.run.views import (
    PLAN_FILE,
    RESULTS_FILE,
    RUN_IS,
    TRIALS_FILE,
    VIEWS,
    summary_for,
    write_views,
)
from gateval.domain.decision.decision import Report, make_report
from gateval.domain.paths import nearest, show_path
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import Results, RunInfo, results_of
from gateval.errors import NoRepository, StageFileError, UsageError
from gateval.render.stage import PLAN_LIMIT, RESULTS_LIMIT, load_plan, load_results


def run_folder(root: Path, run: str) -> Path | None:
    """Return the folder of this run of the repository at `root`, None if there is no such run."""
    return root.joinpath(*PARENTS, run) if run in runs_here(root) else None


def runs_here(root: Path) -> list[str]:
    """Return the ids of the runs that left something to read."""
    return run_folders(root, (RESULTS_FILE, PLAN_FILE))


def find_run(root: Path | None, word: str) -> Path | None:
    """Return where the results of a run are, by its id in the repository at `root` or by a path."""
    known = run_folder(root, word) if root else None
    return known or (Path(word) if Path(word).exists() else None)


def named_run(root: Path | None, word: str) -> Path:
    """Return where the results of a run are, as `find_run` does. Raises `UsageError` for none."""
    found = find_run(root, word)
    if found is None:
        known = sorted(runs_here(root), reverse=True) if root else []
        raise UsageError(
            f"There is no run {show_path(word)} here.{nearest(word, known)}", hint=RUN_IS
        )
    return found


def root_here() -> Path | None:
    """Return the root of the repository that this is in; None where it is in none."""
    try:
        return open_repository().root
    except NoRepository:
        return None


def report_results(environ: Mapping[str, str], run: str, *, view: str, output: Path | None) -> int:
    """Print one view, or write all of them; return the decision's exit code."""
    report = make_report(read_results(named_run(root_here(), run)))
    if output is not None:
        folder = create_results_folder(Path.cwd(), SystemClock(), chosen=output)
        write_views(report, folder)
        print(f"Results: {folder.path}", file=sys.stderr)
    else:
        with suppress(BrokenPipeError):  # it is decided, whether anybody reads on or not
            _print(report, view, environ)
    return report.decision.exit_code


def _print(report: Report, view: str, environ: Mapping[str, str]) -> None:
    if view == "summary":
        sys.stdout.write(summary_for(report, screen_of(sys.stdout, environ)))
    else:
        from gateval.render.view import ReportView

        sys.stdout.writelines(VIEWS[view].pieces(ReportView(report)))


def read_results(stored: Path) -> Results:
    """Read a results file, or the folder of a run.

    A folder without results was left by a run that crashed: its plan and its finished trials are
    put together, and what is missing makes it incomplete. Raises `StageFileError`.
    """
    if not stored.is_dir():
        return _results(stored)
    if (stored / RESULTS_FILE).exists():
        known = finished_results(stored, stored / RESULTS_FILE)
        return known or _results(stored / RESULTS_FILE)
    if not (stored / PLAN_FILE).exists():
        raise StageFileError(
            f"{show_path(str(stored))} is not the folder of a run: it has neither {RESULTS_FILE} "
            f"nor {PLAN_FILE}.",
            hint=RUN_IS,
        )
    plan = read_plan(str(stored / PLAN_FILE))
    return results_of(plan, stored_trials(stored, TRIALS_FILE), RunInfo(run=stored.name))


def _results(path: Path) -> Results:
    return load_results(read_limited(str(path), RESULTS_LIMIT), show_path(str(path)))


def read_plan(path: str) -> Plan:
    """Read a plan from a file, or from standard input for `-`. Raises `StageFileError`."""
    return load_plan(read_limited(path, PLAN_LIMIT), _shown(path))


def read_limited(path: str, limit: int) -> bytes:
    """Read a file, or standard input for `-`, of at most `limit` bytes."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(limit + 1)
    except OSError as error:
        raise StageFileError(f"Cannot read {show_path(path)}: {error.strerror}.") from error
    if len(data) > limit:
        raise StageFileError(
            f"{_shown(path)} is larger than {limit // 2**20} MiB.",
            hint="Gateval writes none of that size; name another file.",
        )
    return data


def _shown(path: str) -> str:
    return "The plan on standard input" if path == "-" else show_path(path)
