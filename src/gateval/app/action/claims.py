"""Results from another job, taken as data: what they are about is confirmed, not believed.

Three things come from them: the number of a pull request, checked against GitHub; trials, held
against a plan made here from git; and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from gateval import __version__
from gateval.adapters.parts import MOST_PARTS, read_parts
from gateval.adapters.results_folder import results_path
from gateval.app.action.context import ActionContext
from gateval.app.names import PART_FILE, TRIGGER_FILE
from gateval.domain.forge.trigger import ClaimSubject, PullRequestSubject, Trigger
from gateval.domain.plan.plan import Plan
from gateval.domain.results.assembly import assemble
from gateval.domain.results.results import Results, RunInfo
from gateval.errors import StageFileError, UsageError
from gateval.render.files.stage import TRIGGER_LIMIT, load_part, load_trigger

CLAIM_LIMIT = 64 * 1024 * 1024
"""Bytes of results that jobs may have written, whatever the plan: we need not trust them."""

TRIAL_BYTES = 32 * 1024
"""Bytes more for each trial that the plan made here asks for: four times what is usual."""

MOST_BYTES = 2 * 1024 * 1024 * 1024
"""Bytes of results, however much is planned."""

_TRIGGERS = MOST_PARTS * TRIGGER_LIMIT
_HINT = "They were changed, or belong to another run. A maintainer's run gives the verdict."


def confirmed_trigger(context: ActionContext) -> Trigger:
    """Return the trigger to publish for: the context's own, or that of the run which it follows.

    Raises `StageFileError` when the data says something else than GitHub, `UsageError` when the
    pull request has moved on or is closed.
    """
    trigger, subject = context.trigger, context.trigger.subject
    if not isinstance(subject, ClaimSubject):
        return trigger
    said = load_trigger(read_parts(_folder(context), TRIGGER_FILE, limit=_TRIGGERS)[0])
    about = said.subject
    if not isinstance(about, PullRequestSubject) or said.repository != trigger.repository:
        raise StageFileError("The results are not about a pull request here.", hint=_HINT)
    if about.head_sha != subject.head_sha:
        raise StageFileError(
            "The results are about another commit than the run that made them.", hint=_HINT
        )
    live = context.forge.pull_request(about.number)
    if (live.head.repository or "").lower() != (subject.head_repository or "").lower():
        raise StageFileError(
            f"Pull request #{about.number} is not the one that the results come from.", hint=_HINT
        )
    if not live.open or live.head.sha != subject.head_sha:
        what = f"has moved on to {live.head.sha[:7]}" if live.open else "is closed"
        raise UsageError(
            f"Pull request #{about.number} {what}; results for {subject.head_sha[:7]} are not "
            "published.",
            hint="Nothing is to be done: the run on the new head counts.",
        )
    confirmed = PullRequestSubject(number=about.number, head_sha=subject.head_sha)
    return trigger.model_copy(update={"subject": confirmed})


def stored_results(context: ActionContext, plan: Plan, run: str) -> Results:
    """Return the trials that other jobs measured, as results of this plan. `run` is our run's id.

    Raises `StageFileError` for results of something else, of another shape, or too large.
    """
    info = RunInfo(run=run, started_at=context.clock.utc_now(), gateval=__version__)
    if plan.nothing:
        return Results(plan=plan, info=info)
    contents = read_parts(_folder(context), PART_FILE, limit=claim_limit(plan))
    measured = plan.model_copy(update={"evals": tuple(one.measured_anew for one in plan.evals)})
    parts = [load_part(content) for content in contents]
    over = next((part.over_budget for part in parts if part.over_budget), "")
    results = assemble(measured, parts, info.model_copy(update={"over_budget": over}))
    return results.model_copy(update={"plan": plan})


def claim_limit(plan: Plan) -> int:
    """Return how many bytes the results of this plan may have, in all parts together."""
    return min(CLAIM_LIMIT + plan.trial_count * TRIAL_BYTES, MOST_BYTES)


def _folder(context: ActionContext) -> Path:
    if not context.inputs.results:
        raise UsageError(
            "The step publish needs the input results.",
            hint="Name the folder into which the results of the run step were downloaded.",
        )
    root = context.repository.root
    return results_path(root, root / context.inputs.results)
