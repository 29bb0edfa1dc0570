"""What `check`, `run` and `aa` do: plan, run, write everything, print the summary."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import SystemClock, screen_of, show_here
from gateval.adapters.results_folder import ResultsFolder, create_results_folder
from gateval.app.planning import announce_worktree, make_plan
from gateval.app.readers import registries, rules_here
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.selection import Pick, against_itself
from gateval.domain.text import PAPER
from gateval.errors import EXIT_INTERRUPTED, EXIT_PASS, EvaluationError, UsageError
from gateval.pipeline.plan import confirm_revisions, plan_named_evals
from gateval.pipeline.read import find_head
from gateval.settings import Settings, read_settings

if TYPE_CHECKING:
    from gateval.app.run.measure import LocalMemory
    from gateval.app.run.recording import Taping
    from gateval.app.run.sealing import MeasuredRun
    from gateval.domain.decision.decision import Report


def check_change(
    environ: dict[str, str],
    *,
    base: str | None,
    head: str | None,
    agents: tuple[str, ...],
    evals: tuple[str, ...],
    fixtures: tuple[str, ...],
    failed: bool,
    fresh: bool,
    results: Path | None,
    accept_bar_change: bool,
    minutes: float,
    resume: str | None = None,
    cache: bool = True,
    record: bool = False,
    replay: str | None = None,
    offline: bool = False,
) -> int:
    """Plan a change and run what was picked of it for so many minutes.

    With `failed`, what did not pass in the last stored run is picked. With `fresh`, what earlier
    checks found does not count. With `accept_bar_change`, a lowered bar does not block. With
    `resume`, what that run measured is kept, for the empty word the newest that fits. Model calls
    are recorded, or replayed from the folder `replay`, which neither knows of earlier checks nor is
    remembered.
    """
    from gateval.app.run.measure import local_memory

    settings = read_settings(environ)
    repository = open_repository()
    memory = local_memory(repository, settings)
    pick = Pick(agents=agents, evals=evals, fixtures=fixtures)
    if failed:
        pick = pick.replace(failed=_failed(repository))
    with _importing_the_run():
        plan = make_plan(repository, environ, base=base, head=head, pick=pick)
    # nobody named the base, so nobody meant head by it
    if base is None and plan.base and plan.head.commit and plan.head.commit == plan.base.commit:
        raise UsageError(
            f"{plan.head.short} is on the default branch already, so there is nothing to compare "
            "it with.",
            hint="Name an older commit with --base REV; `gateval run EVAL` measures one revision.",
        )
    taped = _taping(repository, record=record, replay=replay, offline=offline, decides=True)
    if replay is None:
        plan = memory.applied(plan, fresh=fresh)
    if accept_bar_change:
        plan = plan.replace(bar_accepted="--accept-bar-change")
    known = memory if replay is None else None
    where = (repository, settings, results, minutes)
    return carry_out(
        plan, *where, memory=known, resume=resume, cache=cache and not fresh, taping=taped
    )


@contextmanager
def _importing_the_run() -> Iterator[None]:
    """Import what a run needs while git is waited for and manifests are read, beside the body.

    A module that needs it imports it again, which then costs nothing. An error of the import is
    raised there, too, so it is not raised here.
    """
    with ThreadPoolExecutor(1) as aside:
        aside.submit(import_module, "gateval.app.run.evaluate")
        yield


def _taping(repository: GitRepository, **asked: Any) -> Taping:
    """Read the options of recordings, by what is imported beside planning."""
    from gateval.app.replay import taping_asked

    return taping_asked(repository, **asked)


def _failed(repository: GitRepository) -> tuple[tuple[str, str], ...]:
    from gateval.app.show import failed_last
    from gateval.render.report.wording import count

    run, failed = failed_last(repository.root)
    print(f"Again: {count(len(failed), 'fixture')} that did not pass in {run}.", file=sys.stderr)
    return failed


def run_evals(
    environ: dict[str, str],
    evals: Sequence[str],
    *,
    fixtures: Sequence[str],
    rev: str | None,
    results: Path | None,
    minutes: float,
    resume: str | None,
    batch: bool = False,
    cache: bool = True,
    record: bool = False,
    replay: str | None = None,
    offline: bool = False,
) -> int:
    """Run the named Evals on one revision, without a baseline, under that revision's rules; judges
    are asked in batches with `batch`.
    """
    settings = read_settings(environ)
    repository = open_repository()
    with _importing_the_run():
        revision = find_head(repository, rev)
        announce_worktree(revision)
        shared = rules_here(environ)
        plan = plan_named_evals(
            repository,
            registries(),
            revision,
            shared,
            evals=evals,
            fixtures=fixtures,
            today=SystemClock().utc_now()[:10],
        )
    if batch and any(one.sealed for one in plan.evals):
        raise UsageError(
            "--batch leaves answers for a later run, and of sealed Evals nothing is left.",
            hint="Leave it out, or name Evals that are not sealed.",
        )
    plan = plan.replace(batched=batch)
    taped = _taping(repository, record=record, replay=replay, offline=offline)
    where = (repository, settings, results, minutes)
    return carry_out(plan, *where, resume=resume, cache=cache, taping=taped)


def run_plan_file(
    environ: dict[str, str],
    plan_file: str | None,
    *,
    results: Path | None,
    minutes: float,
    resume: str | None,
    cache: bool = True,
    record: bool = False,
    replay: str | None = None,
    offline: bool = False,
) -> int:
    """Run a plan that was written before, `-` for standard input; None is that of the `replay`."""
    settings = read_settings(environ)
    from gateval.app.run.views import PLAN_FILE
    from gateval.app.stored import named_run, read_plan

    repository = open_repository()
    if plan_file is None:
        plan_file = str(named_run(repository.root, replay or "") / PLAN_FILE)
    plan = read_plan(plan_file)
    confirm_revisions(repository, plan)
    taped = _taping(repository, record=record, replay=replay, offline=offline)
    where = (repository, settings, results, minutes)
    return carry_out(plan, *where, resume=resume, cache=cache, taping=taped)


def carry_out(
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    results: Path | None,
    minutes: float,
    *,
    memory: LocalMemory | None = None,
    resume: str | None = None,
    cache: bool = True,
    taping: Taping | None = None,
) -> int:
    """Run a plan, write the views, print the summary; return the decision's exit code.

    With `resume` it goes on from that run, for the empty word from the newest that fits; with
    `cache` it takes over what judges said here of Agents that rules answer for. What it finds
    regressed is kept in `memory`. With `taping` it records its model calls, or replays them; of a
    replay no record is kept.
    """
    from gateval.app.day_spending import DaySpending
    from gateval.app.resume import resumed_run, with_reused_here
    from gateval.app.run.context import refuse_missing_keys, refuse_unpriced
    from gateval.app.run.measure import measure
    from gateval.app.run.recording import NO_TAPING, offline_settings, refuse_unasked_recording
    from gateval.app.run_history import stored_runs
    from gateval.app.show import with_spent_here
    from gateval.domain.history.recorded import earlier_sets, experiments
    from gateval.domain.results.resume import NOTHING_KEPT

    taped = taping or NO_TAPING
    if taped.replay and resume is not None:
        raise UsageError("A replay goes on from no run: it measures nothing.", hint="Name one.")
    settings = offline_settings(settings) if taped.offline else settings
    refuse_unpriced(plan)
    refuse_missing_keys(plan, settings)
    refuse_unasked_recording(plan, settings, taped)
    plan = with_spent_here(plan, repository.root)
    resumed = NOTHING_KEPT if resume is None else resumed_run(plan, repository, resume or None)
    if cache and taped.replay is None:
        resumed = with_reused_here(plan, repository, resumed)
    if resumed.told:
        print(resumed.told, file=sys.stderr)
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    names = [one.own_name for one in experiments(plan)]
    earlier = earlier_sets(plan, stored_runs(repository).newest(names)) if names else ()
    spending = DaySpending(repository, settings)
    if taped.replay is None:
        plan = spending.opened(plan, folder.run, resumed)
    asked = (plan, repository, settings, folder)
    with spending.closing_on_error(folder.path):
        measured = measure(*asked, earlier=earlier, minutes=minutes, resumed=resumed, taping=taped)
    spending.close_run(measured.whole)
    return conclude(measured, settings, taped, memory, chosen=results is not None)


def conclude(
    measured: MeasuredRun,
    settings: Settings,
    taped: Taping,
    memory: LocalMemory | None = None,
    *,
    chosen: bool,
) -> int:
    """Decide what was measured, write the views, print the summary; return the exit code.

    What was found regressed is kept in `memory`; of a replay no record is kept. `chosen` says that
    somebody named the folder.
    """
    from gateval.app.run.measure import remember
    from gateval.app.run.views import write_views
    from gateval.domain.history.run_record import RunFacts

    folder = measured.folder
    report, whole = measured.reports()
    if taped.replay is None:
        remember(whole, measured, RunFacts(id=folder.run, at=SystemClock().utc_now()))
    views = write_views(report, folder, settings.views, measured.whole.trials)
    if memory is not None:
        memory.keep(whole)
    has_base = measured.results.plan.base is not None
    unknown = _UNKNOWN[: has_base and taped.replay is None]
    told = memory.told if memory is not None else unknown
    with suppress(BrokenPipeError):  # it is decided, whether anybody reads on or not
        _tell_end(report, views, measured, settings, told, chosen=chosen)
    return EXIT_INTERRUPTED if measured.interrupted else report.decision.exit_code


def _tell_end(
    report: Report,
    views: Mapping[str, str],
    measured: MeasuredRun,
    settings: Settings,
    told: Sequence[str],
    *,
    chosen: bool,
) -> None:
    """Print the summary and, beside it, where everything is and what to do next; `chosen` says that
    somebody named the folder.
    """
    from gateval.app.run.views import VIEWS, summary_for
    from gateval.render.report.wording import GLOSSARY
    from gateval.render.terminal.summary import render_next_step
    from gateval.render.view import ReportView

    folder = measured.folder.path
    screen = screen_of(sys.stdout, settings.environ)
    sys.stdout.write(views["summary"] if screen == PAPER else summary_for(report, screen))
    said = [f"Results: {folder}"]
    if "html" in views:
        said.append(f"Report: {show_here(folder / VIEWS['html'].file)}")
    if sys.stderr.isatty():
        said.append(f"Words: {GLOSSARY}")
    if measured.interrupted:
        again = f"--from {show_here(folder)}" if chosen else "--resume"
        told = [*told, "gateval: interrupted; what was finished is in the results."]
        told = [*told, f"  Next: the same command with {again} goes on from there."]
    screen = screen_of(sys.stderr, settings.environ)
    if sys.stderr.isatty():
        told = [
            "\n".join(wrap(line, screen.width, break_long_words=False, break_on_hyphens=False))
            for line in told
        ]
    said += told
    print("\n".join(said), file=sys.stderr)
    if report.results.plan.base is not None and not measured.interrupted:
        place = show_here(folder) if chosen else ""
        print(render_next_step(ReportView(report), place, screen), end="", file=sys.stderr)


_UNKNOWN = ["Measured anew: earlier runs are not known here."]


CHECK_FILE = "self-check.v1.json"
PLOT_FILE = "self-check.svg"


def check_itself(
    environ: dict[str, str],
    evals: Sequence[str],
    *,
    runs: int,
    rev: str | None,
    results: Path | None,
) -> int:
    """Run the Evals `runs` times with one revision on both sides; write table, plot and figures."""
    from gateval.app.day_spending import DaySpending
    from gateval.app.run.evaluate import evaluate
    from gateval.domain.results.resume import NOTHING_KEPT
    from gateval.domain.results.self_check import self_check
    from gateval.domain.setup.gate_job import RUN_MINUTES
    from gateval.render.plots import render_power_plot
    from gateval.render.stage import dump
    from gateval.render.terminal.judges import render_self_check

    settings = read_settings(environ)
    repository = open_repository()
    revision = find_head(repository, rev)
    announce_worktree(revision)
    shared = rules_here(environ)
    named = plan_named_evals(repository, registries(), revision, shared, evals=evals, fixtures=())
    if named.rules_unread:
        raise EvaluationError(named.rules_unread)
    plan = against_itself(named)
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    done = []
    for number in range(1, runs + 1):
        path = folder.path / f"run-{number}"
        path.mkdir()
        spending = DaySpending(repository, settings)
        asked = spending.opened(plan, f"{folder.run}-{number}", NOTHING_KEPT)
        where = (repository, settings, ResultsFolder(folder.run, path))
        with spending.closing_on_error(path):
            found = evaluate(asked, *where, lambda _event: None, minutes=RUN_MINUTES)
        spending.close_run(found)
        if found.info.interrupted:
            print("gateval: interrupted.", file=sys.stderr)
            return EXIT_INTERRUPTED
        done.append(found)
        print(f"Run {number} of {runs}: {len(found.trials)} trials.", file=sys.stderr)
    checked = self_check(plan, done)
    folder.write(CHECK_FILE, dump(checked).encode())
    folder.write(PLOT_FILE, render_power_plot(checked).encode())
    screen = screen_of(sys.stdout, environ)
    sys.stdout.write(render_self_check(checked, screen))
    print(f"Results: {folder.path}", file=sys.stderr)
    return EXIT_PASS
