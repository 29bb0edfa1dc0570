"""What `check` and `run` do: plan, run, write everything, print the summary."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

from gateval.adapters.clock import SystemClock
from gateval.adapters.git import GitRepository, open_repository
from gateval.adapters.progress import show_progress
from gateval.adapters.results_folder import create_results_folder
from gateval.adapters.screen import PAPER, screen_of
from gateval.app.ahead import EVALUATION, importing
from gateval.app.names import PLAN_FILE
from gateval.app.planning import announce_worktree, make_plan
from gateval.app.registries import registries
from gateval.domain.plan import Plan
from gateval.errors import EXIT_INTERRUPTED
from gateval.pipeline.plan import plan_named_evals
from gateval.pipeline.revisions import confirm_revisions, find_head
from gateval.pipeline.run import report_on
from gateval.publish.local import publish_local
from gateval.render.stage import PLAN_LIMIT, dump, load_plan
from gateval.settings import Settings, read_settings


def check_change(
    environ: dict[str, str], *, base: str | None, head: str | None, results: Path | None
) -> int:
    """Plan a change and run it."""
    settings = read_settings(environ)
    repository = open_repository(Path.cwd())
    with importing(EVALUATION):
        plan = make_plan(repository, base=base, head=head)
    return carry_out(plan, repository, settings, results)


def run_evals(
    environ: dict[str, str],
    evals: Sequence[str],
    *,
    fixtures: Sequence[str],
    rev: str | None,
    results: Path | None,
) -> int:
    """Run the named Evals on one revision, without a baseline, under that revision's rules."""
    settings = read_settings(environ)
    repository = open_repository(Path.cwd())
    with importing(EVALUATION):
        revision = find_head(repository, rev)
        announce_worktree(revision)
        plan = plan_named_evals(repository, registries(), revision, evals=evals, fixtures=fixtures)
    return carry_out(plan, repository, settings, results)


def run_plan_file(environ: dict[str, str], plan_file: str, *, results: Path | None) -> int:
    """Run a plan that was written before, `-` for standard input."""
    settings = read_settings(environ)
    from gateval.app.stored import read_limited

    plan = load_plan(read_limited(plan_file, PLAN_LIMIT))
    repository = open_repository(Path.cwd())
    confirm_revisions(repository, plan)
    return carry_out(plan, repository, settings, results)


def carry_out(
    plan: Plan, repository: GitRepository, settings: Settings, results: Path | None
) -> int:
    """Run a plan, write all views, print the summary; return the decision's exit code."""
    from gateval.app.evaluate import evaluate, refuse_missing_keys

    refuse_missing_keys(plan, settings)
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    sys.setswitchinterval(0.0005)  # trials come first; by default they would wait 5 ms each time
    with ThreadPoolExecutor(1) as aside:  # what can be done while models are waited for
        storing = aside.submit(lambda: folder.write(PLAN_FILE, dump(plan, indent=None).encode()))
        loading = aside.submit(lambda: import_module("gateval.app.views").warm_up())
        with show_progress(sys.stderr, plain=settings.plain) as listen:
            evaluation = evaluate(plan, repository, settings, folder, listen)
        storing.result()
        loading.result()
    from gateval.app.views import all_views, summary_for

    report = report_on(evaluation.results)
    views = all_views(report)
    publish_local(views, folder)
    screen = screen_of(sys.stdout, settings.environ)
    sys.stdout.write(views["summary"] if screen == PAPER else summary_for(report, screen))
    print(f"Results: {folder.path}", file=sys.stderr)
    if evaluation.interrupted:
        print("gateval: interrupted; what was finished is in the results.", file=sys.stderr)
        return EXIT_INTERRUPTED
    return report.decision.exit_code
