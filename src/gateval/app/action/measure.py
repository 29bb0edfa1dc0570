"""Measures the plan of a run of the action, or takes what other jobs measured, and keeps the
record.

Three things come from them: the number of a pull request, checked against GitHub; trials, held
against a plan made here from git; and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gateval import __version__
from gateval.adapters.folders import hand_over
from gateval.adapters.parts import MOST_PARTS, opened_parts
from gateval.adapters.results_folder import ResultsFolder, create_results_folder, results_path
from gateval.app.action.context import ActionContext, ActionEvent, reads_unsigned
from gateval.app.action.earlier_runs import sets_stored
from gateval.app.action.result import ActionProgress, ActionResult
from gateval.app.action.spending import closed, closed_later, closing_on_error, opened
from gateval.app.run.context import (
    part_with_keys,
    refuse_missing_keys,
    refuse_shown_values,
    refuse_unpriced,
)
from gateval.app.run.parts import read_part
from gateval.app.run.recording import Taping
from gateval.app.run.shards import claim_limit
from gateval.app.run.trial_lines import TrialLines
from gateval.app.run.views import PART_FILE, TRIGGER_FILE
from gateval.domain.decision.decision import Report
from gateval.domain.forge.check_run import Room
from gateval.domain.forge.trigger import (
    ClaimSubject,
    EventName,
    PullRequestSubject,
    Trigger,
    may_keep,
)
from gateval.domain.history.run_record import RunFacts, newest_first
from gateval.domain.history.trend import turns
from gateval.domain.manifests.gate_config import RecordingPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import shut_plan, without_sealed
from gateval.domain.results.results import (
    WHY_CUT,
    Results,
    RunInfo,
    assemble,
    part_of,
    refuse_replayed,
)
from gateval.domain.results.resume import Resumed
from gateval.domain.results.rounds import one_part, said_by
from gateval.domain.results.shards import busy_seconds
from gateval.domain.text import LINES, markdown
from gateval.domain.verdicts import GateVerdict
from gateval.errors import GatevalError, StageFileError, UsageError
from gateval.events import Listener
from gateval.formats.github.action_inputs import ActionStep
from gateval.ports.storage import RUNS
from gateval.publish.audit import store_run
from gateval.render.stage import TRIGGER_LIMIT, dump, load_trigger, part_pieces
from gateval.safe.sanitize import inline, plain_line

if TYPE_CHECKING:
    from gateval.app.run.sealing import MeasuredRun

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
    triggers = opened_parts(_folder(context), TRIGGER_FILE, limit=_TRIGGERS)
    said = load_trigger(next(one.content() for one in triggers))
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
    return trigger.replace(subject=confirmed)


def stored_results(context: ActionContext, plan: Plan, run: str, *, sealed: bool) -> Results:
    """Return the trials that other jobs measured, as results of this plan. `run` is our run's id.

    What they keep of `sealed` Evals needs the key, and counts only if one with this key kept it.
    Raises `StageFileError` for results of something else, of another shape, or too large.
    """
    from gateval.app.run.sealing import opened_part, with_sealed

    info = RunInfo(run=run, started_at=context.clock.utc_now(), gateval=__version__)
    if plan.nothing:
        return Results(plan=plan, info=info)
    there, known = opened_parts(_folder(context), PART_FILE, limit=claim_limit(plan)), TrialLines()
    measured = plan.replace(evals=tuple(one.measured_anew for one in plan.evals))
    parts = [read_part(one, known) for one in there]
    refuse_replayed(parts)
    environ = context.settings.environ
    plan = plan.replace(allowance=next((one.allowance for one in parts if one.allowance), None))
    found = {at: opened_part(one, plan, environ) for at, one in enumerate(parts) if one.sealed}
    found = found if sealed else {}
    parts = [with_sealed(one, found.get(at)) for at, one in enumerate(parts)]
    if any(one.shard or one.border for one in parts):
        parts = [one_part(measured, parts)]
    seconds = busy_seconds(measured, (trial for one in parts for trial in one.trials))
    info = info.replace(seconds=seconds)
    warnings = () if all(found.values()) else (_UNOPENED,)
    cut = {name: said_by(parts, name) for name in WHY_CUT}
    usd = parts[0].all_usd if len(parts) == 1 else None
    info = info.replace(**cut, warnings=warnings, usd=usd)
    return assemble(measured, parts, info).replace(plan=plan)


_UNOPENED = (
    "What a job measured of sealed Evals cannot be opened here, so it does not count: it was kept "
    "with another GATEVAL_IDENTITY than this job has, or about another head."
)


def _folder(context: ActionContext) -> Path:
    if not context.inputs.results:
        raise UsageError(
            "The step publish needs the input results.",
            hint="Name the folder into which the results of the run step were downloaded.",
        )
    root = context.repository.root
    return results_path(root, root / context.inputs.results)


def measure_plan(
    event: ActionEvent,
    plan: Plan,
    progress: ActionProgress,
    left: Room,
    resumed: Resumed,
    listener: Callable[[Path], Listener],
) -> MeasuredRun:
    """Run what can be run: all of it in a trusted run, in others what needs no key.

    `left` says what may be told of what is sealed; where that is nothing, it does not run. What was
    `resumed` counts as if it were measured here. `listener` returns what is to hear of trials, by
    the folder of the run.

    The step `publish` runs nothing and takes the results of other jobs. The step `run` tells
    nothing of what is sealed: nobody counts there what that gives away.
    """
    from gateval.app.run.sealing import MeasuredRun

    context = event.context
    if context.inputs.step is ActionStep.PUBLISH:
        return _measured_by_others(event, plan, left)
    from gateval.app.run.measure import measure, store_plan

    folder = results_folder(context, context.inputs.results)
    folder.write(TRIGGER_FILE, dump(event.trigger).encode())
    part = _runnable_part(event, plan, left)
    if not plan.evals or part is None:
        shown = context.settings.redactor(plan.policy.candidate_env).value(shut_plan(plan))
        store_plan(shown, folder)
        empty = Results(plan=shown, info=RunInfo(run=folder.run))
        return MeasuredRun(empty, empty, folder)
    if context.inputs.step is ActionStep.ALL:
        progress.open_check(event.target)
    entries = opened(event, plan, resumed)
    plan, part = (one.replace(allowance=entries.allowance) for one in (plan, part))
    with closing_on_error(event, entries, plan, folder.path):
        measured = measure(
            plan,
            context.repository,
            context.settings.keeping_layers(
                allowed=may_keep(event.trigger), unsigned=reads_unsigned(event)
            ),
            folder,
            part=part,
            earlier=sets_stored(event, plan),
            rates=left < Room.VERDICTS,
            tells=context.inputs.step is not ActionStep.RUN,
            at_once=context.inputs.max_parallel,
            minutes=context.inputs.max_minutes,
            resumed=resumed,
            taping=Taping(record=plan.policy.recordings is RecordingPolicy.UPLOAD),
            hear=listener(folder.path),
        )
    return measured._replace(uncounted=closed(event, entries, measured.results.info.usd))


def _measured_by_others(event: ActionEvent, plan: Plan, left: Room) -> MeasuredRun:
    from gateval.app.run.sealing import MeasuredRun, seal_results

    context, folder = event.context, results_folder(event.context, "")
    stored = stored_results(context, plan, folder.run, sealed=left is not Room.NONE)
    whole = stored.replace(earlier=sets_stored(event, plan))  # not as parts say
    public = seal_results(whole, folder, context.settings.environ, rates=left < Room.VERDICTS)
    return MeasuredRun(public, whole, folder, uncounted=closed_later(event, plan, stored))


def _runnable_part(event: ActionEvent, plan: Plan, left: Room) -> Plan | None:
    """Return what can be run of a plan; None for nothing. Raises `MissingKey`, `UsageError`."""
    part: Plan | None = plan
    if event.trigger.trust.verified:
        refuse_missing_keys(plan, event.context.settings)
    else:
        part = part_with_keys(plan, event.context.settings)
    if part is not None and left is Room.NONE:
        part = without_sealed(part)
    if part is not None:
        refuse_unpriced(part)
        if event.context.inputs.step is ActionStep.RUN:
            refuse_shown_values(plan, event.context.settings)
    return part


def store_part(context: ActionContext, measured: MeasuredRun) -> None:
    """Leave the trials where the publishing job finds them; it makes the plan from git itself.

    Those of sealed Evals are encrypted for the gate's own key.
    """
    from gateval.app.run.sealing import sealed_part

    sealed = sealed_part(measured.whole, context.settings.environ)
    part = part_of(measured.results).replace(sealed=sealed)
    measured.folder.write(PART_FILE, part_pieces(part))


def shown_folder(context: ActionContext, folder: ResultsFolder) -> str:
    """Hand the folder over, and name it as later steps find it.

    The workspace has another path, and belongs to another user, in a container.
    """
    root = context.repository.root.resolve()
    hand_over(folder.path, root)
    inside = folder.path.is_relative_to(root)
    return str(folder.path.relative_to(root) if inside else folder.path)


def results_folder(context: ActionContext, chosen: str) -> ResultsFolder:
    """Create the folder for results: the one that was `chosen`, else a new one."""
    root = context.repository.root
    path = root / chosen if chosen else None
    return create_results_folder(root, context.clock, chosen=path)


OF_BRANCH = {EventName.PUSH, EventName.SCHEDULE}
"""Events that measure what the default branch is."""


def waits_for_batches(measured: MeasuredRun) -> bool:
    """Whether judges had not answered in time: the next start finds the same due, and goes on."""
    info = measured.results.info
    return measured.results.plan.batched and (bool(info.ended) or info.interrupted)


def keep_run(
    event: ActionEvent, whole: Report, measured: MeasuredRun
) -> tuple[tuple[str, ...], str]:
    """Write the record of a run that binds, here and in git. Return since when Evals fail, and a
    line for the log.

    It is in git before the job ends, and the same bytes are in the results, for an artifact.
    """
    if not event.binds or waits_for_batches(measured):
        return (), ""
    from gateval.app.run.measure import remember

    context, run = event.context, event.context.run
    number = int(run.id) if run.id.isdigit() else 0
    of_branch = event.trigger.event in OF_BRANCH
    record = remember(
        whole,
        measured,
        RunFacts(
            id=f"{number}-{run.attempt}",
            event=event.trigger.event.value,
            at=context.clock.utc_now(),
            run=number,
            url=run.url,
            workflow=context.workflow,
            branch=event.trigger.default_branch if of_branch else "",
            pull_request=event.resolved.number,
        ),
        leaves=of_branch and not measured.interrupted,
    )
    if record is None:
        return (), ""
    turned: tuple[str, ...] = ()
    try:
        with event.context.open_records() as records:
            if event.trigger.event in OF_BRANCH and record.verdict is GateVerdict.FAIL:
                stored = records.read(RUNS)
                earlier = newest_first((stored and stored.content) or b"")
                turned = tuple(one.sentence for one in turns(record, earlier))
            store_run(records, record)
    except (GatevalError, OSError) as error:
        why = plain_line(str(error), 1_000)
        return turned, f"\nThe run is not kept, so `gateval history` lacks it. {why}\n"
    return turned, ""


def since_when(result: ActionResult, turned: Sequence[str]) -> ActionResult:
    """Return the result with the commits between which Evals got worse, in log and summary."""
    if not turned:
        return result
    lines = LINES.joined(markdown("- {}", inline(one, 1_000)) for one in turned)
    text = "".join(f"{plain_line(one, 1_000)}\n" for one in turned)
    return replace(
        result,
        summary=markdown("{}\n\n### Since when it fails\n\n{}\n", result.summary, lines),
        text=result.text + text,
    )


def repeated(event: ActionEvent, plan: Plan) -> Plan:
    """Return the plan of a run on the default branch with the repetitions that the policy wants."""
    least = plan.policy.baseline.repetitions
    if event.trigger.event not in OF_BRANCH or least == 1:
        return plan
    evals = tuple(
        one
        if one.deterministic or one.execution.reps_per_fixture >= least
        else one.replace(execution=one.execution.replace(reps_per_fixture=least))
        for one in plan.evals
    )
    return plan.replace(evals=evals)
