"""One run of the action, top to bottom: event, read, plan, measure, decide, views, publish.

A runner kills a cancelled job after seconds, so what is written here comes first, and what is kept
in git last.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import FrameType
from typing import TYPE_CHECKING

from pydantic import ValidationError

from gateval.adapters.age import identities
from gateval.app.action.comments import RerunRequest, take_comment, without_right
from gateval.app.action.context import (
    ActionContext,
    ActionEvent,
    build_forge,
    build_request,
    open_context,
    secrets_of,
)
from gateval.app.action.earlier_runs import (
    StoredVerdicts,
    counted,
    same_plan,
    settled,
    unchanged_rules,
    with_baseline,
    with_earlier_findings,
    with_stored_agreements,
)
from gateval.app.action.labels import decide
from gateval.app.action.measure import (
    confirmed_trigger,
    keep_run,
    measure_plan,
    repeated,
    shown_folder,
    since_when,
    store_part,
    waits_for_batches,
)
from gateval.app.action.publish import frame_of, publish_report, restate, upload_report
from gateval.app.action.result import ActionProgress, ActionResult, RunnerOutput, published
from gateval.app.action.resuming import Uploads, earlier_trials
from gateval.app.action.reusing import with_reused_trials
from gateval.app.action.shards import own_stage
from gateval.app.guard import end_in_order, tell
from gateval.app.readers import CLOSED, registries
from gateval.app.status import due_evals, summary
from gateval.domain.decision.decision import unverified
from gateval.domain.forge.trigger import CommentSubject, EventName, Trigger
from gateval.domain.history.run_record import RunRecord
from gateval.domain.history.trend import measured_lately
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.gate_config import BarPolicy, DraftPolicy
from gateval.domain.paths import match_any
from gateval.domain.plan.plan import Plan
from gateval.domain.verdicts import GateVerdict
from gateval.errors import EXIT_INTERRUPTED, EXIT_NOT_EVALUATED, EXIT_PASS, GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.plan import plan_a_change, plan_everything
from gateval.pipeline.resolved_event import ResolvedEvent, resolve_event
from gateval.publish.check import Publication, PublishTarget, Unfinished
from gateval.publish.github import complete_left_open, complete_unfinished, publish
from gateval.settings import SEALED_BRANCHES

if TYPE_CHECKING:
    from gateval.app.run.sealing import MeasuredRun

_DAY = timedelta(hours=20)
"""A nightly run is not always on time; what it measured yesterday is due again."""

_MOMENT = "%Y-%m-%dT%H:%M:%SZ"


class DueNow:
    """Chooses the Evals of a run by the clock: those that are due by their schedule.

    One without a schedule is due once a day, and on each new commit: the clock may tick each hour
    for the others. Where nobody can read what ran before, all of them are due. `said` tells what
    was found.
    """

    def __init__(self, event: ActionEvent) -> None:
        self._event = event
        self.left: tuple[str, ...] = ()
        self.said = ""

    def __call__(self, evals: Iterable[Eval]) -> frozenset[str]:
        """Return the names of those to run."""
        every = tuple(evals)
        try:
            records = self._records()
        except (GatevalError, OSError) as error:
            self.said = f"Earlier runs cannot be read, so every Eval counts as due: {error}\n"
            records = ()
        now = datetime.fromisoformat(self._event.context.clock.utc_now().replace("Z", "+00:00"))
        found = due_evals(every, records, now)
        commit = self._event.resolved.revisions.head.commit or ""
        since, until = (moment.strftime(_MOMENT) for moment in (now - _DAY, now))
        measured = measured_lately(records, commit, since=since, now=until)
        free = (one.name for one in every if one.schedule is None and one.name in measured)
        done = {name: measured[name] for name in free}
        self.left = (*(one.name for one in found if not one.due), *done)
        if found or not done:
            self.said += f"{summary(found)}\n"
        for name, at in done.items():
            self.said += f"{name} has no schedule, and this commit was measured at {at}.\n"
        return frozenset(one.name for one in every) - set(self.left)

    def _records(self) -> tuple[RunRecord, ...]:
        """The runs before this one; an earlier attempt of it is none: a person asks for more."""
        own = self._event.context.run.id
        return tuple(one for one in self._event.stored_runs() if str(one.run) != own)

    def narrowed(self, event: ActionEvent, plan: Plan) -> ActionEvent:
        """Return the event of a gate of its own where only some Evals are due.

        What they say must not stand for the others, whose check run is another one.
        """
        if not self.left or not plan.evals:
            return event
        names = tuple(sorted(one.name for one in plan.evals))
        narrowing = event.context.narrowing.replace(evals=names)
        return replace(event, context=replace(event.context, narrowing=narrowing))


def nothing_due(event: ActionEvent, plan: Plan, due: DueNow) -> ActionResult | None:
    """Return the end of a run in which nothing is due: it says nothing on GitHub."""
    if event.trigger.event is EventName.SCHEDULE and not plan.evals and due.left:
        return ActionResult(EXIT_PASS, text=due.said)
    return None


_SAID = "gateval: interrupted; what was finished is in the results."


def end_cancelled(
    event: ActionEvent, measured: MeasuredRun, progress: ActionProgress
) -> ActionResult:
    """Write views and record of what was completed, and complete the check as cancelled.

    Log and job summary say what is kept.
    """
    from gateval.app.run.views import write_views
    from gateval.render.github import announce
    from gateval.render.view import ReportView

    (report, whole), folder = measured.reports(), measured.folder
    plan, trust = report.results.plan, event.trigger.trust
    claim = unverified(trust, plan, event.resolved.number)
    asked = event.context.settings.views
    views = write_views(report, folder, asked, measured.whole.trials)
    unfinished = progress.cancel()
    _, unkept = keep_run(event, whole, measured)
    frame = frame_of(event, plan.policy, unverified=claim)
    return ActionResult(
        EXIT_INTERRUPTED,
        {"results": shown_folder(event.context, folder)},
        summary=announce(ReportView(report, frame)).job_summary,
        text=f"{_SAID}\n{unkept}{views['summary']}",
        unfinished=unfinished,
    )


def run_gate(context: ActionContext, progress: ActionProgress) -> ActionResult:
    """Go the way that the inputs ask for. Raises `GatevalError`; nothing was decided then."""
    publishes = context.inputs.step is ActionStep.PUBLISH
    trigger = confirmed_trigger(context) if publishes else context.trigger
    asked: RerunRequest | None = None
    if isinstance(trigger.subject, CommentSubject):
        taken = take_comment(context, trigger.subject)
        if isinstance(taken, ActionResult):
            return taken
        asked, trigger = taken, taken.trigger
    stored_verdicts = StoredVerdicts(context, trigger)
    resolved = resolve_event(trigger, context.repository, context.server, context.forge)
    target = progress.about(_target(context, trigger, resolved))
    event = ActionEvent(context, trigger, resolved, target, stored_verdicts.audit())
    if event.closed:
        return ended_closed("its labels say nothing")
    stored = stored_verdicts.find(event)
    policy = unchanged_rules(stored, event)
    if stored and stored.record and policy:
        return restate(event, policy, stored.record, stored.check)
    due = DueNow(event)
    plan = repeated(event, _plan(event, due))
    if over := nothing_due(event, plan, due):
        return over
    event = due.narrowed(event, plan)
    if refused := without_right(context, asked, plan.policy):
        return refused
    target = progress.about(_target(event.context, trigger, resolved, plan))
    event = replace(event, target=target)
    if one_of_several := own_stage(event, plan):
        return one_of_several
    if resolved.draft and plan.evals and plan.policy.drafts is DraftPolicy.WAIT:
        return _wait(event)
    stored = same_plan(stored, plan)
    if stored and stored.record:
        return restate(event, plan.policy, stored.record, stored.check)
    return _measure_decide_publish(event, plan, progress, stored.why_not if stored else "")


def ended_closed(why: str) -> ActionResult:
    """End green, for a pull request that is closed has nothing left to be kept from."""
    said = f"The pull request is closed: {why}."
    return ActionResult(EXIT_PASS, text=f"{said}\n", notice=said)


def _measure_decide_publish(
    event: ActionEvent, plan: Plan, progress: ActionProgress, why_not_stored: str
) -> ActionResult:
    from gateval.app.run.views import write_views

    git_plan = plan
    plan, without_memory = with_earlier_findings(event, plan, progress)
    plan, baseline = with_baseline(event, plan)
    plan, agreements = with_stored_agreements(event, plan)
    plan, left, on_seals = counted(event, plan)
    resumed = earlier_trials(event, git_plan, plan, progress.known_checks(event.target))
    resumed, reused = with_reused_trials(event, plan, resumed)
    with Uploads(event, git_plan, progress, resumed) as uploads:
        told = replace(event, target=uploads.target)
        measured = measure_plan(told, plan, progress, left, resumed, uploads.listener)
    if event.context.inputs.step is ActionStep.RUN:
        store_part(event.context, measured)
    if measured.interrupted:
        progress.about(uploads.rest(measured.results.offers))
        return end_cancelled(event, measured, progress)
    uncounted = settled(event, on_seals, measured.results)
    decided = decide(event, measured.results, measured.whole)
    cut = decided.report.decision.verdict is GateVerdict.INCOMPLETE
    if cut or waits_for_batches(measured):
        event = replace(event, target=progress.about(uploads.rest(measured.results.offers)))
    else:
        progress.about(event.target)
    asked = event.context.settings.views
    made = (decided.report, measured.folder, asked, measured.whole.trials)
    views = write_views(*made, whole=("html",))  # which is uploaded
    note = f"The evals run: {why_not_stored}.\n" if why_not_stored else ""
    turned, unkept = keep_run(event, decided.whole, measured)
    report_url, why_not = upload_report(event, views.get("html"))
    note += without_memory + baseline + agreements + reused + uncounted + unkept + why_not
    note += "".join(f"{one}\n" for one in (uploads.fault, measured.uncounted) if one)
    lost = "html" in views and not report_url
    said = publish_report(event, decided, note + views["summary"], report_url, report_lost=lost)
    result = since_when(said, turned)
    folder = shown_folder(event.context, measured.folder)
    return replace(result, outputs={**result.outputs, "results": folder})


def _plan(event: ActionEvent, due: DueNow) -> Plan:
    context, today = event.context, event.context.clock.utc_now()[:10]
    trusted = event.trigger.trust.verified
    known = registries() if trusted else replace(registries(), foreign=CLOSED)
    shut = _why_shut(event)
    known = replace(known, unseal=None) if shut else known
    if event.trigger.event is EventName.SCHEDULE:
        return plan_everything(
            context.repository,
            known,
            event.resolved.revisions.head,
            context.shared,
            config_path=context.inputs.config,
            narrowing=context.narrowing,
            due=due,
            today=today,
        )
    plan = plan_a_change(
        context.repository,
        known,
        event.resolved.revisions,
        context.shared,
        config_path=context.inputs.config,
        narrowing=context.narrowing,
        bar=None if trusted else BarPolicy.BASE,
        today=today,
    )
    given = trusted or identities(context.settings.environ)
    told = (shut, *plan.warnings) if shut and given and plan.locked else plan.warnings
    return plan.replace(warnings=told)


_UNCOUNTED = (
    "What is sealed is opened by runs alone that give a verdict, for these count what they tell of "
    "it. A maintainer's run does; this one needs no GATEVAL_IDENTITY."
)


def _why_shut(event: ActionEvent) -> str:
    """Return why nothing sealed is opened for this change; empty if it is.

    The target branch names the sealed Evals that run and who may read the evidence. Whoever may
    push a branch could name themselves there, and open a pull request into it. What a run tells
    whose verdict is none is counted by nobody.
    """
    if not event.trigger.trust.verified:
        return _UNCOUNTED
    into, default = event.resolved.base_ref, event.trigger.default_branch
    if into == default or match_any(event.context.settings.sealed_branches)(into):
        return ""
    return (
        f"Sealed files are opened for changes into {default} alone, and this one goes into {into}: "
        "whoever may push that branch says there who reads the evidence. The variable "
        f"{SEALED_BRANCHES} beside the key names more branches."
    )


def _target(
    context: ActionContext, trigger: Trigger, resolved: ResolvedEvent, plan: Plan | None = None
) -> PublishTarget:
    head = resolved.revisions.head.commit or ""
    claimed = bool(unverified(trigger.trust, plan, resolved.number))
    return context.target(head, resolved.number, claimed=claimed, branch=resolved.base_ref)


def _wait(event: ActionEvent) -> ActionResult:
    """Say that a draft is not measured."""
    from gateval.render.github import announce_draft

    context = event.context
    announcement = announce_draft(context.run_url)
    publication = Publication()
    if event.publishes:
        publication = publish(context.forge, event.target, announcement)
    trust, number = event.trigger.trust, event.resolved.number
    result = published(EXIT_NOT_EVALUATED, announcement, publication, trust, number)
    return replace(result, text=f"{announcement.title}.\n")


STATE_TARGET = "target"
"""The name under which the post entry finds what stands in progress."""

STATE_DONE = "done"
"""Nothing is left to do: what stood in progress was completed."""

STATE_UNFINISHED = "unfinished"
"""What the check run has to say, because GitHub did not take it."""


def run_action(environ: Mapping[str, str]) -> int:
    """Run the gate as the runner's environment says; return the exit status."""
    output = RunnerOutput(environ)
    with output.guarded(secrets_of(environ)):
        result = _result(environ, output)
        sys.stdout.write(result.text)
        if result.error is not None:
            tell(result.error)
    output.finish(result)
    if result.unfinished is None:
        output.keep(STATE_DONE, "true")
    else:
        output.keep(STATE_UNFINISHED, result.unfinished.model_dump_json())
    return result.exit_code


def _result(environ: Mapping[str, str], output: RunnerOutput) -> ActionResult:
    from gateval.render.github import announce_trouble

    try:
        request = build_request(environ)
    except GatevalError as error:
        summary = announce_trouble(error).job_summary
        return ActionResult(error.exit_code, summary=summary, error=error)
    if request.trigger.closing:
        return ended_closed("nothing was evaluated, and nothing is written")
    progress = ActionProgress(
        request, lambda target: output.keep(STATE_TARGET, target.model_dump_json())
    )
    try:
        with _ended_by_signals(), open_context(environ, request) as context:
            result = run_gate(context, progress)
    except GatevalError as error:
        result = progress.report_error(error)
    except KeyboardInterrupt:
        end_in_order()
        unfinished = progress.cancel()
        text = "gateval: interrupted.\n"
        result = ActionResult(EXIT_INTERRUPTED, text=text, unfinished=unfinished)
    except Exception:
        progress.break_off()
        raise
    return progress.without_hope(result)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Have SIGTERM end the block as Ctrl-C does; while trials run, the run itself listens. Where a
    run was cancelled, none ends the job before it has said so.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is stop:
            signal.signal(signal.SIGTERM, before)


def close_action(environ: Mapping[str, str]) -> int:
    """Complete a check run that a crash, or GitHub, left in progress.

    The job's status is not changed by it.
    """
    kept = environ.get(f"STATE_{STATE_UNFINISHED}", "")
    begun = environ.get(f"STATE_{STATE_TARGET}", "")
    if not kept and (not begun or environ.get(f"STATE_{STATE_DONE}")):
        return EXIT_PASS
    token = environ.get("INPUT_TOKEN", "")
    forge = build_forge(environ, token, environ.get("GITHUB_REPOSITORY", ""))
    try:
        done = (
            complete_unfinished(forge, Unfinished.model_validate_json(kept))
            if kept
            else complete_left_open(forge, PublishTarget.model_validate_json(begun))
        )
    except ValidationError:
        print("gateval: the state of the action's own entry cannot be read.", file=sys.stderr)
        return EXIT_PASS
    RunnerOutput(environ).finish(ActionResult(EXIT_PASS, warnings=done.warnings))
    return EXIT_PASS
