"""Runs a plan and leaves all about it in a results folder; `check` and the action share it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from gateval.adapters.git import GitRepository
from gateval.adapters.progress import show_progress
from gateval.adapters.results_folder import ResultsFolder
from gateval.app.names import PLAN_FILE, RUN_FILE
from gateval.app.run.gc_tuning import small_collections
from gateval.domain.decision.report import Report
from gateval.domain.history.runs.record import RunFacts, RunRecord, record_line
from gateval.domain.history.runs.recorded import public_record, run_record
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import shut_plan
from gateval.domain.results.averages import EarlierSet
from gateval.domain.results.results import Results
from gateval.render.files.stage import dump
from gateval.settings import Settings

if TYPE_CHECKING:
    from gateval.safe.redaction import Redactor

FIRST_WAVE_SECONDS = 0.15
"""So long after its plan is stored, a run's first trials have the machine to themselves."""


class Measured(NamedTuple):
    """The results of a run as everybody may see them, the whole, and whether a signal ended it."""

    results: Results
    whole: Results
    interrupted: bool


def measure(
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    folder: ResultsFolder,
    *,
    part: Plan | None = None,
    earlier: tuple[EarlierSet, ...] = (),
    rates: bool = True,
    at_once: int | None = None,
    minutes: float,
) -> Measured:
    """Run a plan, or the part of it that can be run, and write plan and trials.

    The results are those of the whole plan: what is not in `part` did not run. `earlier` sets of
    experiments are kept with them. Secrets are out of all they hold; so is what is sealed, but for
    the verdicts on it, and with `rates` how much of it passes. At most `at_once` trials run side by
    side, over all Evals; the run ends after `minutes`. Raises
    `MissingKey` when a model of the part has no key.
    """
    from gateval.app.run.evaluate import evaluate
    from gateval.app.run.sealing import runnable, seal_results
    from gateval.safe.redaction import Redactor

    redactor = Redactor(settings.secrets_beside(plan.policy.candidate_env))
    with small_collections(), ThreadPoolExecutor(1) as aside:  # beside waiting for models
        over = Event()
        safe = aside.submit(redactor.value, plan)
        storing = aside.submit(lambda: store_plan(safe.result(), folder))
        aside.submit(over.wait, FIRST_WAVE_SECONDS)
        loading = aside.submit(lambda: import_module("gateval.app.run.views").warm_up())
        try:
            with show_progress(sys.stderr, plain=settings.plain) as listen:
                asked = (runnable(part or plan), repository, settings, folder, listen)
                evaluation = evaluate(*asked, at_once=at_once, minutes=minutes)
        finally:
            over.set()
        storing.result()
        loading.result()
    results = _whole(evaluation.results, safe.result(), redactor)
    results = results.model_copy(update={"earlier": tuple(map(redactor.value, earlier))})
    public = seal_results(results, folder, settings.environ, rates=rates)
    return Measured(public, results, evaluation.interrupted)


def _whole(results: Results, plan: Plan, redactor: Redactor) -> Results:
    """Return the results of the whole plan, out of which secrets were taken.

    Trials are redacted as they finish, all but the names by which they are found in the plan.
    """
    keys = [redactor.value(trial.key) for trial in results.trials]
    trials = tuple(
        trial if key is trial.key else trial.model_copy(update={"key": key})
        for trial, key in zip(results.trials, keys, strict=True)
    )
    info = redactor.value(results.info)
    return results.model_copy(update={"plan": plan, "trials": trials, "info": info})


def store_plan(plan: Plan, folder: ResultsFolder) -> None:
    """Write the plan for a report on a run that crashes, without what is sealed.

    Secrets have to be out of it before, as they are of results.
    """
    folder.write(PLAN_FILE, dump(shut_plan(plan), indent=None).encode())


def remember(
    whole: Report, public: Results, folder: ResultsFolder, facts: RunFacts
) -> RunRecord | None:
    """Write the record of a run, which `get` and an artifact find, and return it.

    None where nothing was evaluated. `public` says what may stand there of sealed Evals.
    """
    record = run_record(whole, facts)
    if record is not None:
        record = public_record(record, public)
        folder.write(RUN_FILE, record_line(record))
    return record
