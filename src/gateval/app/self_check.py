"""What `aa` does: run an unchanged agent against itself again and again; report how that went."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gateval.adapters.clock import SystemClock
from gateval.adapters.git import open_repository
from gateval.adapters.results_folder import ResultsFolder, create_results_folder
from gateval.adapters.screen import screen_of
from gateval.app.planning import announce_worktree
from gateval.app.registries import registries
from gateval.app.shared_rules import rules_here
from gateval.domain.planning.against_itself import against_itself
from gateval.domain.setup.gate_job import RUN_MINUTES
from gateval.errors import EXIT_INTERRUPTED, EXIT_PASS, EvaluationError
from gateval.pipeline.plan import plan_named_evals
from gateval.pipeline.revisions import find_head
from gateval.settings import read_settings

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
    from gateval.app.run.evaluate import evaluate
    from gateval.domain.results.self_check import self_check
    from gateval.render.files.power_plot import render_power_plot
    from gateval.render.files.stage import dump
    from gateval.render.terminal.self_check import render_self_check

    settings = read_settings(environ)
    repository = open_repository(Path.cwd())
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
        part = ResultsFolder(folder.run, path)
        evaluation = evaluate(
            plan, repository, settings, part, lambda _event: None, minutes=RUN_MINUTES
        )
        if evaluation.interrupted:
            print("gateval: interrupted.", file=sys.stderr)
            return EXIT_INTERRUPTED
        done.append(evaluation.results)
        print(f"Run {number} of {runs}: {len(evaluation.results.trials)} trials.", file=sys.stderr)
    found = self_check(plan, done)
    folder.write(CHECK_FILE, dump(found).encode())
    folder.write(PLOT_FILE, render_power_plot(found).encode())
    screen = screen_of(sys.stdout, environ)
    sys.stdout.write(render_self_check(found, width=screen.width, color=screen.color))
    print(f"Results: {folder.path}", file=sys.stderr)
    return EXIT_PASS
