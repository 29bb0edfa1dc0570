"""Measures the plan of a run of the action, or takes what other jobs measured."""

from __future__ import annotations

from dataclasses import dataclass

from gateval.adapters.folders import hand_over
from gateval.adapters.results_folder import ResultsFolder, create_results_folder
from gateval.app.action.claims import stored_results
from gateval.app.action.context import ActionContext
from gateval.app.action.event import ActionEvent
from gateval.app.action.progress import ActionProgress
from gateval.app.action.result import ActionResult
from gateval.app.action.stored.earlier_runs import sets_stored
from gateval.app.names import PART_FILE, PLAN_FILE, TRIGGER_FILE
from gateval.app.run.keys import part_with_keys, refuse_missing_keys, refuse_unpriced
from gateval.domain.forge.seals import Room
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import shut_plan, without_sealed
from gateval.domain.results.results import Results, RunInfo
from gateval.errors import EXIT_PASS
from gateval.formats.github.action_inputs import ActionStep
from gateval.render.files.stage import dump, dump_part


@dataclass(frozen=True)
class ActionMeasurement:
    """Results as everybody may see them, the folder of their run, and whether a signal ended it
    early. `hidden` has what is sealed.
    """

    results: Results
    folder: ResultsFolder
    interrupted: bool = False
    hidden: Results | None = None

    @property
    def whole(self) -> Results:
        """The results with what is sealed in them."""
        return self.hidden or self.results


def measure_plan(
    event: ActionEvent, plan: Plan, progress: ActionProgress, left: Room = Room.FREE
) -> ActionMeasurement:
    """Run what can be run: all of it in a trusted run, in others what needs no key.

    `left` says what may be told of what is sealed; where that is nothing, it does not run.

    The step `publish` runs nothing and takes the results of other jobs.
    """
    from gateval.app.run.sealing import seal_results

    context = event.context
    if context.inputs.step is ActionStep.PUBLISH:
        folder = _folder(context, "")
        stored = stored_results(context, plan, folder.run)
        earlier = {"earlier": sets_stored(event, plan)}  # what parts say of it is not asked for
        whole = stored.model_copy(update=earlier)
        public = seal_results(whole, folder, context.settings.environ, rates=True)
        return ActionMeasurement(public, folder, hidden=whole)
    folder = _folder(context, context.inputs.results)
    folder.write(TRIGGER_FILE, dump(event.trigger).encode())
    part: Plan | None = plan
    if event.trigger.trust.verified:
        refuse_missing_keys(plan, context.settings)
    else:
        part = part_with_keys(plan, context.settings)
    if part is not None and left is Room.NONE:
        part = without_sealed(part)
    if part is not None:
        refuse_unpriced(part)
    from gateval.app.action.unsigned_layers import reads_unsigned
    from gateval.app.run.measure import measure, store_plan
    from gateval.domain.forge.trigger import may_keep
    from gateval.safe.redaction import Redactor

    if not plan.evals or part is None:
        shown = Redactor(context.settings.secrets).value(shut_plan(plan))
        store_plan(shown, folder)
        return ActionMeasurement(Results(plan=shown, info=RunInfo(run=folder.run)), folder)
    if context.inputs.step is ActionStep.ALL:
        progress.open_check(event.target)
    evaluation = measure(
        plan,
        context.repository,
        context.settings.keeping_layers(
            allowed=may_keep(event.trigger), unsigned=reads_unsigned(event)
        ),
        folder,
        part=part,
        earlier=sets_stored(event, plan),
        rates=left < Room.VERDICTS,
        at_once=context.inputs.max_parallel,
        minutes=context.inputs.max_minutes,
    )
    return ActionMeasurement(evaluation.results, folder, evaluation.interrupted, evaluation.whole)


def store_part(measured: ActionMeasurement) -> None:
    """Leave the trials where the publishing job finds them; it makes the plan from git itself."""
    measured.folder.write(PART_FILE, dump_part(measured.results).encode())


def store_plan_only(event: ActionEvent, plan: Plan) -> ActionResult:
    """Leave the plan where the next job finds it; nothing is decided and nothing said."""
    from gateval.render.terminal.plan_table import render_plan

    if event.trigger.trust.verified:
        refuse_unpriced(plan)
    context = event.context
    folder = _folder(context, context.inputs.results)
    folder.write(TRIGGER_FILE, dump(event.trigger).encode())
    plan = shut_plan(plan)
    folder.write(PLAN_FILE, dump(plan, indent=None).encode())
    text = f"{plan.nothing}\n" if plan.nothing else render_plan(plan, width=100, color=False)
    return ActionResult(EXIT_PASS, {"results": shown_folder(context, folder)}, text=text)


def shown_folder(context: ActionContext, folder: ResultsFolder) -> str:
    """Hand the folder over, and name it as later steps find it.

    The workspace has another path, and belongs to another user, in a container.
    """
    root = context.repository.root.resolve()
    hand_over(folder.path, root)
    inside = folder.path.is_relative_to(root)
    return str(folder.path.relative_to(root) if inside else folder.path)


def _folder(context: ActionContext, chosen: str) -> ResultsFolder:
    root = context.repository.root
    path = root / chosen if chosen else None
    return create_results_folder(root, context.clock, chosen=path)
