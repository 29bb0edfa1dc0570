"""One run of the action, top to bottom: event, read, plan, measure, decide, views, publish."""

from __future__ import annotations

from dataclasses import replace

from gateval.app.action.cancelled import end_cancelled
from gateval.app.action.claims import confirmed_trigger
from gateval.app.action.clock_run import DueNow, nothing_due
from gateval.app.action.commands.comments import RerunRequest, take_comment, without_right
from gateval.app.action.context import ActionContext
from gateval.app.action.decide import decide
from gateval.app.action.event import ActionEvent
from gateval.app.action.labels.restate import restate
from gateval.app.action.labels.stored_verdicts import (
    StoredVerdicts,
    same_plan,
    unchanged_rules,
)
from gateval.app.action.measure import (
    measure_plan,
    shown_folder,
    store_part,
    store_plan_only,
)
from gateval.app.action.progress import ActionProgress
from gateval.app.action.publish import publish_report
from gateval.app.action.result import ActionResult, published
from gateval.app.action.stored.earlier_findings import with_earlier_findings
from gateval.app.action.stored.earlier_runs import with_baseline, with_stored_agreements
from gateval.app.action.stored.kept_run import keep_run, repeated, since_when
from gateval.app.action.stored.sealed_bits import counted
from gateval.app.foreign import CLOSED
from gateval.app.registries import registries
from gateval.domain.decision.trust import unverified
from gateval.domain.forge.trigger import CommentSubject, EventName, Trigger
from gateval.domain.manifests.policy.words import BarPolicy, DraftPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.repository.patterns import match_any
from gateval.errors import EXIT_NOT_EVALUATED, EXIT_PASS
from gateval.formats.github.action_inputs import ActionStep
from gateval.pipeline.plan import plan_a_change, plan_everything
from gateval.pipeline.resolved_event import ResolvedEvent, resolve_event
from gateval.publish.github import publish
from gateval.publish.outcome import Publication
from gateval.publish.target import PublishTarget
from gateval.settings import SEALED_BRANCHES


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
    if context.inputs.step is ActionStep.PLAN:
        return store_plan_only(event, plan)
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

    plan, without_memory = with_earlier_findings(event, plan, progress)
    plan, baseline = with_baseline(event, plan)
    plan, agreements = with_stored_agreements(event, plan)
    plan, left = counted(event, plan)
    measured = measure_plan(event, plan, progress, left)
    if event.context.inputs.step is ActionStep.RUN:
        store_part(measured)
    if measured.interrupted:
        return end_cancelled(event, measured, progress)
    decided = decide(event, measured.results, measured.whole)
    views = write_views(decided.report, measured.folder)
    note = f"The evals run: {why_not_stored}.\n" if why_not_stored else ""
    kept = keep_run(event, decided.whole, measured)
    note += without_memory + baseline + agreements + kept.note
    result = since_when(publish_report(event, decided, note + views["summary"]), kept)
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
    told = (shut, *plan.warnings) if shut and plan.locked else plan.warnings
    return plan.model_copy(update={"warnings": told})


def _why_shut(event: ActionEvent) -> str:
    """Return why nothing sealed is opened for changes into this branch; empty if it is.

    The target branch names the sealed Evals that run and who may read the evidence. Whoever may
    push a branch could name themselves there, and open a pull request into it.
    """
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
    from gateval.render.github.trouble import announce_draft

    context = event.context
    announcement = announce_draft(context.run_url)
    publication = Publication()
    if context.inputs.step is not ActionStep.RUN:
        publication = publish(context.forge, event.target, announcement)
    trust, number = event.trigger.trust, event.resolved.number
    result = published(EXIT_NOT_EVALUATED, announcement, publication, trust, number)
    return replace(result, text=f"{announcement.title}.\n")
