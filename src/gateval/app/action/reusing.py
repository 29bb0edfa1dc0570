"""Takes over what runs of the default branch were judged to be, where an Agent says the same for
certain (`domain/results/reuse.py`).

A forged judgement is a forged pass. So a file is believed on the terms of stored base trials: the
forge says that its run was of the default branch, and the record that this run uploaded names the
file's SHA-256. What a pull request's job may write is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from pydantic import ValidationError

from gateval.adapters.own_code import engine_digest
from gateval.app.action.context import ActionEvent
from gateval.app.action.earlier_runs import home_of, proven, said
from gateval.app.action.measure import OF_BRANCH
from gateval.app.run.views import REUSABLE_BYTES, REUSABLE_FILE
from gateval.domain.history.baseline import of_home
from gateval.domain.history.run_record import RunRecord
from gateval.domain.plan.plan import Plan
from gateval.domain.results.results import RunInfo, results_of
from gateval.domain.results.resume import Resumed
from gateval.domain.results.reuse import ReusableTrials, could_reuse, with_reused
from gateval.errors import GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.render.stage import load_reusable

ARTIFACT = "gateval-reusable"
"""The name of the artifact that holds what a run left for others."""

MOST_RUNS = 3
"""Runs whose files are downloaded for one plan."""


def with_reused_trials(event: ActionEvent, plan: Plan, resumed: Resumed) -> tuple[Resumed, str]:
    """Return `resumed` with what is taken over from proven runs, and lines for the log.

    Runs of the default branch take over nothing: they are what others rely on.
    """
    own = event.context.inputs.step is ActionStep.ALL and event.trigger.event not in OF_BRANCH
    if not (event.binds and own and plan.policy.baseline.trials and event.trigger.default_branch):
        return resumed, ""
    wanted = could_reuse(plan, engine_digest())
    if not wanted:
        return resumed, ""
    try:
        home, since = home_of(event, plan)
        every = of_home(event.stored_runs(), home, since=since)
        offered = [one for one in every if one.reusable][:MOST_RUNS]
        confirmed, notes = proven(event, offered, home)
        left = [(one.id, read) for one in confirmed for read in _left(event, one)]
        found = with_reused(plan, wanted, left, resumed)
        results_of(plan, found.kept.measured, RunInfo())
    except ValidationError:
        return (
            resumed,
            "What earlier runs left says something else than its assertions: not used.\n",
        )
    except (GatevalError, OSError) as error:
        return resumed, f"All judges are asked in this run: {said(error)}\n"
    return found, notes


def _left(event: ActionEvent, record: RunRecord) -> Iterator[ReusableTrials]:
    """Yield what a run left, if its artifact holds what the record names."""
    forge = event.context.forge
    for one in forge.artifacts(record.run, ARTIFACT):
        content = forge.artifact_file(one, REUSABLE_FILE, limit=REUSABLE_BYTES)
        if content is not None and sha256(content).hexdigest() == record.reusable:
            yield load_reusable(content)
            return
