"""The jobs that measure a run together: each reads the parts that earlier ones left, and leaves its
own. None of them says anything on GitHub, and none decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gateval.adapters.own_code import engine_digest
from gateval.adapters.results_folder import ResultsFolder, read_parts, results_path
from gateval.app.action.context import ActionEvent, reads_unsigned
from gateval.app.action.measure import claim_limit, results_folder, shown_folder
from gateval.app.action.result import ActionResult
from gateval.app.run.context import refuse_missing_keys, refuse_unpriced
from gateval.app.run.views import PART_FILE, PLAN_FILE, TRIGGER_FILE
from gateval.domain.forge.trigger import may_keep
from gateval.domain.history.forecast import kept_seconds
from gateval.domain.manifests.gate_config import DraftPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart, shut_plan
from gateval.domain.results.results import ResultsPart, RunInfo, results_of
from gateval.domain.results.rounds import Joined, join
from gateval.domain.results.shards import Border, Shard
from gateval.domain.text import listing
from gateval.domain.trials.trial import Trial
from gateval.errors import EXIT_INTERRUPTED, EXIT_NOT_EVALUATED, EXIT_PASS, GatevalError
from gateval.formats.github.action_inputs import ActionStep
from gateval.render.stage import dump
from gateval.safe.sanitize import plain_line

if TYPE_CHECKING:
    from gateval.app.run.sealing import MeasuredRun
    from gateval.app.run.shards import Piece


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
    from gateval.render.terminal.plan_table import render_plan

    if event.trigger.trust.verified:
        refuse_unpriced(plan)
    context = event.context
    folder = results_folder(context, context.inputs.results)
    folder.write(TRIGGER_FILE, dump(event.trigger).encode())
    shown = shut_plan(plan)
    folder.write(PLAN_FILE, dump(shown, indent=None).encode())
    text = f"{plan.nothing}\n" if plan.nothing else render_plan(shown)
    if context.inputs.shards is None:
        return _ended(event, folder, EXIT_PASS, text)
    matrix, told = _plan_shards(event, plan, folder)
    return _ended(event, folder, EXIT_PASS, text + told, matrix)


def _plan_shards(event: ActionEvent, plan: Plan, folder: ResultsFolder) -> tuple[str, str]:
    """Say how many shards the first round has, and measure the judges for all of them.

    Return the output `shards` and a line for the log.
    """
    from gateval.app.run.shards import calibrating, first_border

    context, inputs = event.context, event.context.inputs
    kept, note = dict[str, float](), ""
    try:
        kept = kept_seconds(plan, event.stored_runs())
    except (GatevalError, OSError) as error:
        note = f"How long runs took cannot be read: {plain_line(str(error), 1_000)}\n"
    asked = _at_most(inputs.shards or None, inputs.max_parallel)
    border = first_border(plan, kept, asked, context.run.attempt)
    border = border.replace(shards=0) if plan.nothing or _waits(event, plan) else border
    piece = calibrating(plan)
    if not border.shards:  # the job that ends the run measures all of it
        piece = piece._replace(stage=None)
    measured = _measured(event, plan, piece, folder)
    _leave(event, measured, piece, border)
    return _matrix(border.shards), f"{note}{_told(border)}\n"


def _measure_stage(event: ActionEvent, plan: Plan) -> ActionResult:
    """Measure one shard, or what follows a round, or what is left at the end; leave it as a part.

    The status is 0 where all was measured that this job had to measure, red or green.
    """
    from gateval.app.run.shards import opened_parts

    context, inputs = event.context, event.context.inputs
    folder = results_folder(context, inputs.results)
    if plan.nothing:
        return _ended(event, folder, EXIT_PASS, f"{plan.nothing}\n", "[]")
    root = context.repository.root
    there = results_path(root, root / inputs.parts)
    contents = read_parts(there, PART_FILE, limit=claim_limit(plan))
    parts = opened_parts(contents, plan, context.settings.environ)
    if inputs.step is ActionStep.RUN:
        return _measure_shard(event, plan, parts, folder)
    joined = join(plan, parts)
    if inputs.step is ActionStep.NEXT:
        return _measure_next(event, plan, joined, folder)
    return _measure_rest(event, plan, joined, folder)


def _measure_shard(
    event: ActionEvent, plan: Plan, parts: list[ResultsPart], folder: ResultsFolder
) -> ActionResult:
    from gateval.app.run.shards import shard_piece

    inputs = event.context.inputs
    assert inputs.shard is not None  # noqa: S101 - else this is no stage
    many = inputs.max_parallel
    piece, shard = shard_piece(
        plan, parts, inputs.shard, inputs.round, event.context.run.attempt, many
    )
    measured = _measured(event, plan, piece, folder)
    _leave(event, measured, piece, shard)
    made = len(measured.results.trials)
    whole = not piece.asked_of(measured.whole.trials)
    kept = len(_public(plan, piece.resumed.kept.measured))
    told = f"Shard {shard.name} of round {shard.round}: {made:,} runs measured"
    told += f", {kept:,} of them at an earlier try.\n" if kept else ".\n"
    if measured.interrupted:
        return _ended(event, folder, EXIT_INTERRUPTED, f"{told}gateval: interrupted.\n")
    if not whole:
        told += f"It was cut short. {measured.results.info.cut}\n"
    return _ended(event, folder, EXIT_PASS if whole else EXIT_NOT_EVALUATED, told)


def _measure_next(
    event: ActionEvent, plan: Plan, joined: Joined, folder: ResultsFolder
) -> ActionResult:
    from gateval.app.run.shards import next_border, short_piece

    inputs, attempt = event.context.inputs, event.context.run.attempt
    piece = short_piece(plan, joined, inputs.max_parallel)
    measured = _measured(event, plan, piece, folder)
    after = joined
    if piece.stage is not None:
        trials = measured.whole.trials
        left = piece.asked_of(trials)
        after = joined._replace(trials=trials, left=left)
    asked = _at_most(inputs.shards or None, inputs.max_parallel)
    border = next_border(plan, after, asked, attempt)
    if inputs.shards is None or measured.interrupted or measured.results.info.ended:
        border = border.replace(shards=0)
    _leave(event, measured, piece, border)
    made = len(measured.results.trials) - len(_public(plan, joined.trials))
    told = f"{joined.unfinished}\n" if joined.unfinished else ""
    told += f"{made:,} runs measured here.\n" if made else ""
    code = EXIT_INTERRUPTED if measured.interrupted else EXIT_PASS
    return _ended(event, folder, code, told + _told(border) + "\n", _matrix(border.shards))


def _measure_rest(
    event: ActionEvent, plan: Plan, joined: Joined, folder: ResultsFolder
) -> ActionResult:
    from gateval.app.run.shards import last_piece

    piece = last_piece(plan, joined, event.context.inputs.max_parallel)
    measured = _measured(event, plan, piece, folder)
    border = Border(round=joined.round, attempt=event.context.run.attempt, whole=True)
    _leave(event, measured, piece, border, joined.unfinished)
    made, before = len(measured.results.trials), len(_public(plan, joined.trials))
    told = f"{made:,} runs measured, {made - before:,} of them here.\n"
    if measured.interrupted:
        return _ended(event, folder, EXIT_INTERRUPTED, f"{told}gateval: interrupted.\n")
    cut = joined.unfinished or measured.results.info.cut
    return _ended(event, folder, EXIT_NOT_EVALUATED if cut else EXIT_PASS, f"{told}{cut}\n")


def _measured(event: ActionEvent, plan: Plan, piece: Piece, folder: ResultsFolder) -> MeasuredRun:
    """Run the piece, if anything of it is left; its results are those of the whole plan."""
    from gateval.app.run.measure import measure
    from gateval.app.run.sealing import MeasuredRun, seal_results
    from gateval.safe.redaction import Redactor

    context = event.context
    if piece.stage is None:
        shown = Redactor(context.settings.secrets).value(plan)
        info = RunInfo(run=folder.run)
        known = piece.plan.agreements
        whole = results_of(shown, piece.resumed.kept.measured, info, known)
        public = seal_results(whole, folder, context.settings.environ, rates=False, tells=False)
        return MeasuredRun(public, whole, folder)
    refuse_missing_keys(piece.plan, context.settings)
    refuse_unpriced(piece.plan)
    return measure(
        plan,
        context.repository,
        context.settings.keeping_layers(
            allowed=may_keep(event.trigger), unsigned=reads_unsigned(event)
        ),
        folder,
        part=piece.plan,
        tells=False,
        at_once=piece.at_once,
        minutes=context.inputs.max_minutes,
        resumed=piece.resumed,
        stage=piece.stage,
    )


def _leave(
    event: ActionEvent,
    measured: MeasuredRun,
    piece: Piece,
    place: Shard | Border,
    unfinished: str = "",
) -> None:
    from gateval.app.run.shards import part_of_piece

    environ = event.context.settings.environ
    text = part_of_piece(measured, piece, environ, place, unfinished)
    measured.folder.write(PART_FILE, text.encode())


def _ended(
    event: ActionEvent, folder: ResultsFolder, code: int, text: str, shards: str = ""
) -> ActionResult:
    outputs = {"results": shown_folder(event.context, folder)}
    return ActionResult(code, outputs | ({"shards": shards} if shards else {}), text=text)


def _public(plan: Plan, trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials that may be counted aloud: none of sealed Evals."""
    apart = kept_apart(plan)
    return [one for one in trials if one.key.eval not in apart]


def _at_most(asked: int | None, parallel: int | None) -> int | None:
    """Return how many shards were asked for, but for those that could have no trial at once."""
    return min(asked, parallel) if asked and parallel else asked


def _matrix(shards: int) -> str:
    return json.dumps([f"{number}-of-{shards}" for number in range(1, shards + 1)])


def _told(border: Border) -> str:
    if not border.shards:
        return f"No round of shards follows round {border.round}."
    return f"Round {border.round + 1} is measured in {listing([str(border.shards)])} shards."
