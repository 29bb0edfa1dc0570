"""The runs that are stored in the repository, and what did not pass in the last of them.

A pull request can bring files to this place, so links are not followed and names are checked; what
the files say is read like any results from elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path

from gateval.adapters.results_folder import PARENTS, run_folders
from gateval.app.names import DECISION_FILE, PLAN_FILE
from gateval.app.stored import read_limited, read_results, runs_here
from gateval.domain.base import JsonObject
from gateval.domain.decision.report import Report, make_report
from gateval.domain.history.standing import BUDGET_SPENT, ended_by_budget
from gateval.domain.plan.plan import Plan
from gateval.domain.verdicts import GateVerdict
from gateval.errors import StageFileError, UsageError
from gateval.render.files.stage import PLAN_LIMIT
from gateval.render.report.facts import FixtureStatus, gather

_ALL = "`gateval check` without --failed measures all that the change calls for."

GOOD = {FixtureStatus.PASSING, FixtureStatus.IMPROVED}


def last_run(root: Path) -> Path:
    """Return the folder of the last run. Raises `UsageError` when none is stored."""
    runs = runs_here(root)
    if not runs:
        raise UsageError(
            "No run is stored in this repository.",
            hint=f"`gateval check` stores one in {'/'.join(PARENTS)}, unless --results names "
            "another folder.",
        )
    return root.joinpath(*PARENTS, max(runs))


def failed_in(report: Report) -> tuple[tuple[str, str], ...]:
    """Return the Eval and the name of each fixture that did not pass, each pair once."""
    found = [
        (fact.planned.own_name, fact.fixture.name)
        for fact in gather(report)
        if fact.status not in GOOD
    ]
    return tuple(dict.fromkeys(found))


def failed_last(root: Path) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the id of the last run that measured anything, and what did not pass in it.

    Raises `UsageError` when everything passed or nothing was ever measured, `StageFileError` when a
    run cannot be read.
    """
    last_run(root)
    for run in sorted(runs_here(root), reverse=True):
        results = read_results(root.joinpath(*PARENTS, run))
        if not results.trials:
            continue
        if failed := failed_in(make_report(results)):
            return run, failed
        if any(one.verdict is not GateVerdict.PASS for one in results.sealed):
            raise UsageError(
                f"In {run} only what is sealed did not pass, and its fixtures are not told.",
                hint=_ALL,
            )
        raise UsageError(
            f"Nothing failed in the last run that measured anything, {run}.", hint=_ALL
        )
    raise UsageError("No run that is stored here measured anything.", hint=_ALL)


def with_spent_here(plan: Plan, root: Path) -> Plan:
    """Return the plan, which stays incomplete if a run stored here used up the same budget."""
    head = plan.head.commit or plan.head.tree
    for run in run_folders(root, [DECISION_FILE]):
        folder = root.joinpath(*PARENTS, run)
        decision = _object(folder / DECISION_FILE)
        reasons = decision.get("reasons")
        if decision.get("head") != head or not isinstance(reasons, list):
            continue
        ended = any(
            isinstance(one, dict) and ended_by_budget(str(one.get("verdict")), str(one.get("code")))
            for one in reasons
        )
        if ended and _object(folder / PLAN_FILE).get("policy_digest") == plan.policy_digest:
            return plan.model_copy(update={"budget_spent": BUDGET_SPENT})
    return plan


def _object(path: Path) -> JsonObject:
    """The JSON object in a file of an earlier run; an empty one where there is none to be read."""
    try:
        found = json.loads(read_limited(str(path), PLAN_LIMIT))
    except (StageFileError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
