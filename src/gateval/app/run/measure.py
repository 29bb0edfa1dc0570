"""Runs a plan and leaves all about it in a results folder; `check` and the action share it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING

from gateval.adapters.git import GitRepository
from gateval.adapters.progress import show_progress
from gateval.adapters.results_folder import ResultsFolder
from gateval.app.names import PLAN_FILE
from gateval.app.run.gc_tuning import calm
from gateval.domain.decision.report import Report
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import Results
from gateval.pipeline.run import report_on
from gateval.publish.local import publish_local
from gateval.render.files.stage import dump
from gateval.settings import Settings

if TYPE_CHECKING:
    from gateval.safe.redaction import Redactor

Judge = Callable[[Results], Report]

FIRST_WAVE_SECONDS = 0.15
"""So long after its plan is stored, a run's first trials have the machine to themselves."""


@dataclass(frozen=True)
class Measured:
    """A report, its views by name, and whether a signal ended the run early."""

    report: Report
    views: Mapping[str, str]
    interrupted: bool = False


def measure(
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    folder: ResultsFolder,
    *,
    part: Plan | None = None,
    at_once: int | None = None,
    judge: Judge = report_on,
) -> Measured:
    """Run a plan, or the part of it that can be run, and write plan, trials and all views.

    The report is about the whole plan: what is not in `part` did not run. At most `at_once` trials
    run side by side, over all Evals. `judge` makes the report once all is measured. Raises
    `MissingKey` when a model of the part has no key.
    """
    from gateval.app.run.evaluate import evaluate
    from gateval.safe.redaction import Redactor

    redactor = Redactor(settings.secrets_beside(plan.policy.candidate_env))
    with calm(), ThreadPoolExecutor(1) as aside:  # what can be done while models are waited for
        over = Event()
        safe = aside.submit(redactor.value, plan)
        storing = aside.submit(lambda: store_plan(safe.result(), folder))
        aside.submit(over.wait, FIRST_WAVE_SECONDS)
        loading = aside.submit(lambda: import_module("gateval.app.run.views").warm_up())
        try:
            with show_progress(sys.stderr, plain=settings.plain) as listen:
                evaluation = evaluate(
                    part or plan, repository, settings, folder, listen, at_once=at_once
                )
        finally:
            over.set()
        storing.result()
        loading.result()
    results = _whole(evaluation.results, safe.result(), redactor)
    return conclude(results, folder, interrupted=evaluation.interrupted, judge=judge)


def _whole(results: Results, plan: Plan, redactor: Redactor) -> Results:
    """Return the results of the whole plan, out of which secrets were taken.

    Trials are redacted as they finish, all but the names by which they are found in the plan.
    """
    trials = tuple(
        trial.model_copy(update={"key": redactor.value(trial.key)}) for trial in results.trials
    )
    info = redactor.value(results.info)
    return results.model_copy(update={"plan": plan, "trials": trials, "info": info})


def store_plan(plan: Plan, folder: ResultsFolder) -> None:
    """Write the plan for a report on a run that crashes.

    Secrets have to be out of it before, as they are of results.
    """
    folder.write(PLAN_FILE, dump(plan, indent=None).encode())


def conclude(
    results: Results,
    folder: ResultsFolder,
    *,
    interrupted: bool = False,
    judge: Judge = report_on,
) -> Measured:
    """Compare, decide, and write all views into the folder; no label counts for half a run."""
    from gateval.app.run.views import all_views

    report = report_on(results) if interrupted else judge(results)
    views = all_views(report)
    publish_local(views, folder)
    return Measured(report, views, interrupted)
