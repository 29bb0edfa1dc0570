"""The jobs of a workflow that measure a run together. None of them says anything on GitHub, and
none decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateval.adapters.own_code import engine_digest
from gateval.adapters.results_folder import ResultsFolder, results_path
from gateval.app.action.context import ActionEvent, reads_unsigned
from gateval.app.action.measure import results_folder, shown_folder
from gateval.app.action.result import ActionResult
from gateval.app.action.spending import opened
from gateval.app.run.context import refuse_unpriced
from gateval.app.run.views import PLAN_FILE, TRIGGER_FILE
from gateval.domain.forge.trigger import may_keep
from gateval.domain.history.forecast import kept_seconds
from gateval.domain.manifests.gate_config import DraftPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import shut_plan
from gateval.errors import EXIT_PASS, GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.render.stage import dump
from gateval.safe.sanitize import plain_line

if TYPE_CHECKING:
    from gateval.app.run.stages import Machine, StageEnd


def own_stage(event: ActionEvent, plan: Plan) -> ActionResult | None:
    """Plan, or measure one piece of a run, where that is all of this job; else None."""
    inputs, plan = event.context.inputs, plan.replace(engine=engine_digest())
    if inputs.step is ActionStep.PLAN:
        return _plan_only(event, plan)
    return (
        _measure_stage(event, plan) if inputs.measures_a_stage and not _waits(event, plan) else None
    )


def _waits(event: ActionEvent, plan: Plan) -> bool:
    return event.resolved.draft and plan.policy.drafts is DraftPolicy.WAIT


def _plan_only(event: ActionEvent, plan: Plan) -> ActionResult:
    """Leave the plan where the next job finds it; nothing is decided and nothing said."""
    from gateval.app.run.stages import StageEnd
    from gateval.render.terminal.plan_table import render_plan

    if event.trigger.trust.verified:
        refuse_unpriced(plan)
    context = event.context
    folder = results_folder(context, context.inputs.results)
    folder.write(TRIGGER_FILE, dump(event.trigger).encode())
    shown = context.settings.redactor(plan.policy.candidate_env).value(shut_plan(plan))
    folder.write(PLAN_FILE, dump(shown, indent=None).encode())
    text = f"{plan.nothing}\n" if plan.nothing else render_plan(shown)
    if context.inputs.shards is None:
        return _ended(event, folder, StageEnd(EXIT_PASS, text))
    kept, note = dict[str, float](), ""
    try:
        kept = kept_seconds(plan, event.stored_runs())
    except (GatevalError, OSError) as error:
        note = f"How long runs took cannot be read: {plain_line(str(error), 1_000)}\n"
    waits = _waits(event, plan)
    if not waits:
        plan = plan.replace(allowance=opened(event, plan).allowance)
    end = _machine(event, plan, folder).plan_shards(kept, none=waits)
    return _ended(event, folder, end._replace(text=text + note + end.text))


def _measure_stage(event: ActionEvent, plan: Plan) -> ActionResult:
    """Measure one shard, or what follows a round, or what is left at the end."""
    from gateval.app.run.shards import parts_in, with_allowance
    from gateval.app.run.stages import StageEnd

    context, inputs = event.context, event.context.inputs
    folder = results_folder(context, inputs.results)
    if plan.nothing:
        return _ended(event, folder, StageEnd(EXIT_PASS, f"{plan.nothing}\n", 0))
    root = context.repository.root
    there = results_path(root, root / inputs.parts)
    own = (inputs.round, inputs.shard.number) if inputs.shard else None
    parts = parts_in(there, plan, context.settings.environ, own=own)
    machine = _machine(event, with_allowance(plan, parts), folder)
    if inputs.shard is not None:
        end = machine.measure_shard(parts, inputs.shard, inputs.round)
    elif inputs.step is ActionStep.NEXT:
        end = machine.measure_next(parts)
    else:
        end, _ = machine.measure_rest(parts)
    return _ended(event, folder, end)


def _machine(event: ActionEvent, plan: Plan, folder: ResultsFolder) -> Machine:
    from gateval.app.run.stages import Machine

    context, inputs = event.context, event.context.inputs
    return Machine(
        plan,
        context.repository,
        context.settings.keeping_layers(
            allowed=may_keep(event.trigger), unsigned=reads_unsigned(event)
        ),
        folder,
        inputs.max_minutes,
        attempt=context.run.attempt,
        asked=inputs.shards,
        at_once=inputs.max_parallel,
    )


def _ended(event: ActionEvent, folder: ResultsFolder, end: StageEnd) -> ActionResult:
    outputs = {"results": shown_folder(event.context, folder)}
    if end.shards is not None:
        outputs["shards"] = end.matrix
    return ActionResult(end.code, outputs, text=end.text)
