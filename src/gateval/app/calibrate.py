"""What `calibrate` does: replay calibrations, show how far judges agree with people.

What `judge try` does: ask the judge about one answer, and show all of the conversation.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gateval.adapters.folders import write_whole
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import SystemClock, screen_of
from gateval.adapters.results_folder import (
    ResultsFolder,
    create_results_folder,
)
from gateval.app.planning import announce_worktree
from gateval.app.readers import registries, rules_here, valid_snapshot
from gateval.app.run.views import CALIBRATIONS_FILE
from gateval.app.show import last_run
from gateval.app.stored import read_results
from gateval.assertions.assess import assess
from gateval.domain.base import canonical_json, json_text
from gateval.domain.calibration import (
    LEAST_AGREEMENT,
    CalibrationPhase,
    CalibrationReplay,
    binding_of,
    script_of,
)
from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.evaluation import Calibration, Eval, JudgeSpec, script_name
from gateval.domain.manifests.fixture import PREFERENCE, Fixture
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.paths import nearest
from gateval.domain.plan.sealing import sealed_fixtures
from gateval.domain.planning.selection import refuse_names
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.promotion import NoRun, Recorded
from gateval.domain.results.self_check import CalibratedJudge, CalibrationReport
from gateval.domain.text import quote
from gateval.domain.tree import Revision
from gateval.domain.trials.model_call import ModelReply, ModelRequest
from gateval.domain.trials.trace import StepKind, Trace, TraceBuilder
from gateval.domain.trials.trial import Answer, NotAssessed, Side
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS, MissingKey, UsageError
from gateval.formats.traces import LIMIT, read_runs
from gateval.judging.calibrating import BATCH_SECONDS
from gateval.judging.judge import Judge
from gateval.judging.presets import preset
from gateval.pipeline.read import find_head, read_revision, read_rules
from gateval.ports.model_calls import ModelCalls
from gateval.render.terminal.judges import JudgeExchange, TriedAssertion, render_judging
from gateval.safe.sanitize import plain_line
from gateval.settings import Settings, read_settings

if TYPE_CHECKING:
    from gateval.app.batched import BatchFile
    from gateval.gateway.door import Gateway


class AskedJudge(NamedTuple):
    """A judge to measure, and the kappa that is asked of it."""

    calibration: Calibration
    spec: JudgeSpec
    least: float


def judges_asked(
    catalogue: Catalogue, names: Sequence[str], models: Sequence[str]
) -> list[AskedJudge]:
    """Return the judges of the named calibrations, of all without a name. Raises `UsageError`."""
    wanted = calibrations_named(catalogue, names)
    return [asked for one in wanted for asked in _judges(one, catalogue, models)]


def calibrations_named(catalogue: Catalogue, names: Sequence[str]) -> list[Calibration]:
    """Return the named calibrations, all without a name. Raises `UsageError`."""
    known = [one.name for one in catalogue.calibrations]
    refuse_names("JudgeCalibration", names, known)
    if not known:
        raise UsageError(
            "There is no JudgeCalibration on this revision.",
            hint="`gateval challenge` begins one from a verdict that you do not share.",
        )
    return [one for one in catalogue.calibrations if not names or one.name in names]


def calibration_of_preset(name: str, model: str) -> Calibration:
    """Return the examples of a preset for a judge. Raises `UsageError` where there is none."""
    try:
        return preset(name).calibration(model)
    except ValueError as error:
        raise UsageError(str(error)) from None


def judges_of_preset(name: str, catalogue: Catalogue, models: Sequence[str]) -> list[AskedJudge]:
    """Return the judges of a preset: the models given, else those of the Evals.

    Raises `UsageError` for a preset that is not there, and where there is no judge.
    """
    asked = [JudgeSpec(model=model) for model in models]
    specs = {
        canonical_json(one.terms): one
        for one in asked or [one.judge for one in catalogue.evals if one.judge.asked]
    }
    if not specs:
        raise UsageError(
            "No Eval on this revision names a judge to measure.",
            hint="Name one: gateval calibrate --preset NAME --model PROVIDER/ID.",
        )
    return [
        AskedJudge(calibration_of_preset(name, one.asked[0]), one, LEAST_AGREEMENT)
        for one in specs.values()
    ]


def _judges(
    calibration: Calibration, catalogue: Catalogue, models: Sequence[str]
) -> list[AskedJudge]:
    """The judges of a calibration: those it lists and those of the Evals that name it."""
    naming = [one for one in catalogue.evals if one.judge.calibration == calibration.name]
    judging = {one.judge.named: one for one in naming if one.judge.asked}
    found: dict[str, AskedJudge] = {}
    for named in models or (*calibration.judge_models, *judging):
        mine = [one for one in naming if one.judge.named == named]
        for spec in [one.judge for one in mine] or [JudgeSpec(model=named)]:
            asked = AskedJudge(calibration, spec, least_asked(mine or naming))
            found[canonical_json(spec.terms)] = asked
    return list(found.values())


def least_asked(evals: Sequence[Eval]) -> float:
    """Return the highest kappa that one of these Evals asks."""
    asked = [one.judge.min_agreement for one in evals]
    return max((LEAST_AGREEMENT if a is None else a for a in asked), default=LEAST_AGREEMENT)


def refuse_unanswerable(
    models: Iterable[str], snapshot: Snapshot, settings: Settings, policy: Policy
) -> None:
    """Raise `MissingKey` or `UsageError` for a model that cannot be asked under this policy."""
    from gateval.app.run.context import refuse_unpriced_models
    from gateval.gateway.upstream.endpoints import missing_keys

    wanted = sorted(set(models))
    missing = missing_keys(wanted, settings.upstreams)
    if missing:
        raise MissingKey(" ".join(missing), hint="Keys belong in the environment of gateval.")
    for model in wanted:
        script = script_name(model)
        if script is not None and script not in snapshot.scripts:
            raise UsageError(f"No manifest on this revision names the scripted model {model}.")
    refuse_unpriced_models(wanted, policy)


@asynccontextmanager
async def judges_gateway(
    repository: GitRepository,
    snapshot: Snapshot,
    settings: Settings,
    policy: Policy,
    *,
    priced: bool = False,
    batch: bool = False,
) -> AsyncIterator[Gateway]:
    """Open the gateway: it holds the keys, the scripts of this revision, and the limits of its
    policy, with what the day leaves of them; what was taken counts in the day. `priced`: what calls
    cost is wanted. `batch`: calls that do not fit into a budget wait for those that take days.
    """
    from gateval.adapters.list_prices import ListPrices
    from gateval.app.day_spending import DaySpending
    from gateval.gateway.door import Gateway
    from gateval.gateway.ledger import SpendingLimits
    from gateval.gateway.upstream.http_client import Timeouts
    from gateval.gateway.upstream.retry import RetryPolicy

    day = DaySpending(repository, settings)
    gateway = Gateway(
        settings.upstreams,
        {Side.HEAD: snapshot.scripts},
        prices=ListPrices() if priced or policy.budget.limits_usd else None,
        own_prices=policy.prices,
        limits=SpendingLimits.under(policy, day.allowed(policy.budget)),
        rates=policy.rates,
        policy=RetryPolicy.under(policy, settings.outage_seconds),
        timeouts=Timeouts(answer=BATCH_SECONDS) if batch else None,
        ca_file=settings.ca_file,
    )
    async with gateway:
        try:
            yield gateway
        finally:
            day.close(gateway.ledger.spent.plus(gateway.ledger.held).usd)


class CommandInputs(NamedTuple):
    """What a command about judges reads of a revision and of this machine."""

    settings: Settings
    repository: GitRepository
    revision: Revision
    snapshot: Snapshot
    policy: Policy


def read_here(environ: dict[str, str], rev: str | None) -> CommandInputs:
    """Read a revision, the working tree for None if it has changes, by the rules of its config."""
    settings, repository = read_settings(environ), open_repository()
    revision = find_head(repository, rev)
    announce_worktree(revision)
    under = read_rules(repository, revision, rules_here(environ))
    snapshot = read_revision(repository, registries(), revision, under.config)
    return CommandInputs(settings, repository, revision, snapshot, under.rules.policy)


PLOT_FILE = "calibrations.svg"


def calibrate_judges(
    environ: dict[str, str],
    names: Sequence[str],
    models: Sequence[str],
    *,
    presets: Sequence[str] = (),
    rev: str | None,
    plot: Path | None,
    results: Path | None,
    as_json: bool,
    batch: bool = False,
) -> int:
    """Replay the named calibrations, all without a name, and print how far judges agree.

    `presets` are those that come with the gate; if some are named, only what is named is replayed.
    `batch`: by batches, which take up to a day, and go on where such a command was ended. Raises
    `UsageError` for a name that is not there, `MissingKey` for a model that cannot be asked.
    """
    from gateval.app.foreseen_calls import announce_calls
    from gateval.render.plots import render_calibration_plot
    from gateval.render.stage import dump
    from gateval.render.terminal.judges import render_calibration
    from gateval.safe.redaction import Redactor

    settings, repository, revision, snapshot, policy = read_here(environ, rev)
    catalogue = snapshot.catalogue
    asked = judges_asked(catalogue, names, models) if names or not presets else []
    asked += [one for name in presets for one in judges_of_preset(name, catalogue, models)]
    refuse_unanswerable(
        [name for one in asked for name in one.spec.asked], snapshot, settings, policy
    )
    announce_calls([(one.calibration, one.spec) for one in asked], policy, batch=batch)
    notes = batch_file(repository.root, asked, snapshot) if batch else None
    under = (repository, snapshot, settings, policy)
    made, over_budget = asyncio.run(_replays(asked, under, notes))
    replays = map(Redactor(settings.secrets).value, made)
    rows = [
        CalibratedJudge.of(replay, one.least, policy.judge.agreement)
        for one, replay in zip(asked, replays, strict=True)
    ]
    rows.sort(key=lambda one: (one.calibration, -(-1.0 if one.kappa is None else one.kappa)))
    found = CalibrationReport(revision=revision, judges=tuple(rows))
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    names = (CALIBRATIONS_FILE, PLOT_FILE)
    write_plotted(folder, names, dump(found), render_calibration_plot(found), plot)
    if notes is not None:
        notes.settle()
    screen = screen_of(sys.stdout, environ)
    shown = render_calibration(found, screen)
    sys.stdout.write(dump(found) if as_json else shown)
    print(f"Results: {folder.path}", file=sys.stderr)
    return _exit_code(found, over_budget)


def _exit_code(found: CalibrationReport, over_budget: str) -> int:
    """Say why not all was judged, and return the command's status."""
    if over_budget:
        print(f"gateval: {over_budget}", file=sys.stderr)
    phases = {one.phase for one in found.judges}
    if over_budget or CalibrationPhase.FAILED in phases:
        return EXIT_NOT_EVALUATED
    return EXIT_FAILED if CalibrationPhase.STALE in phases else EXIT_PASS


def write_plotted(
    folder: ResultsFolder, names: tuple[str, str], said: str, drawn: str, plot: Path | None
) -> None:
    """Write what was found and its plot under their `names` in the folder, and the plot where else
    it is wanted. Raises `UsageError`.
    """
    for name, text in zip(names, (said, drawn), strict=True):
        folder.write(name, text.encode())
    if plot is not None:
        try:
            write_whole(plot, drawn.encode())
        except OSError as error:
            raise UsageError(
                f"The plot could not be written to {plot}: {error.strerror}."
            ) from error


GatewayInputs: TypeAlias = tuple[GitRepository, Snapshot, Settings, Policy]
"""What `judges_gateway` takes."""


async def _replays(
    asked: Sequence[AskedJudge],
    under: GatewayInputs,
    notes: BatchFile | None,
) -> tuple[Sequence[CalibrationReplay], str]:
    """Return the replays, and why not all examples were judged if the policy gave no more calls."""
    from gateval.app.batched import asked_by
    from gateval.judging.calibrating import IN_BATCHES, ONE_BY_ONE, judge_behind, replay

    batch, (_, snapshot, settings, _) = notes is not None, under
    rules = IN_BATCHES if batch else ONE_BY_ONE
    at_once = asyncio.Semaphore(len(asked) if batch else 1)
    async with (
        judges_gateway(*under, batch=batch) as gateway,
        asked_by(gateway, settings, notes) as calls,
    ):

        async def replayed(one: AskedJudge) -> CalibrationReplay:
            script, judge = script_of(one.spec, snapshot.scripts), judge_behind(calls, batch=batch)
            async with at_once:
                return await replay(one.calibration, one.spec, judge, script=script, rules=rules)

        found = await asyncio.gather(*map(replayed, asked))
    return found, gateway.ledger.told if gateway.ledger.ended else ""


def batch_file(
    root: Path, asked: Sequence[AskedJudge], snapshot: Snapshot, *, compared: bool = False
) -> BatchFile:
    """Return where the batches for these judges are kept. Raises `UsageError` for one that takes
    none.
    """
    from gateval.app.batched import BatchFile, refuse_unbatched
    from gateval.judging.calibrating import prompt_digest

    refuse_unbatched({model for one in asked for model in one.spec.asked})
    prompt, scripts = prompt_digest(), snapshot.scripts
    bindings = [
        binding_of(one.calibration, one.spec, prompt=prompt, script=script_of(one.spec, scripts))
        for one in asked
    ]
    return BatchFile(root, bindings, compared=compared)


def answer_to(
    repository: GitRepository, fixture: Fixture, trace: Path | None
) -> tuple[Answer, str]:
    """Return the answer in the file `trace`, else head's in the last run, and what has to be said
    of where it comes from; empty for nothing. Raises `UsageError`.
    """
    if trace is None:
        return _last(repository.root, fixture), ""
    run = _of_file(trace, fixture)
    same = fixture.turns or run.turns or run.input.prompt.strip() == fixture.input.prompt.strip()
    said = "" if same else "This record answers to another input than the fixture's."
    return answer_of(run), said


def _last(root: Path, fixture: Fixture) -> Answer:
    folder = last_run(root)
    for trial in read_results(folder).trials:
        mine = trial.key.fixture == fixture.name and trial.key.side is Side.HEAD
        if mine and trial.output is not None:
            return Answer(
                output=trial.output, trace=trial.trace, usage=trial.usage, seconds=trial.seconds
            )
    raise UsageError(
        f'The last run, {folder.name}, has no answer to the fixture "{fixture.name}".',
        hint=f"Run it (gateval run EVAL --fixture {fixture.name}), or name a record with --trace.",
    )


def _of_file(path: Path, fixture: Fixture) -> Recorded:
    """Return the run of a file that answers to the fixture, else its only run without a fixture."""
    shown = plain_line(str(path), 200)
    try:
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as error:
        raise UsageError(f"{shown} could not be read: {error.strerror}.") from error
    found = [run for _, run in read_runs(data, shown)]
    runs = [run for run in found if isinstance(run, Recorded)]
    if not runs:
        why = next((str(run) for run in found if isinstance(run, NoRun)), "it is empty")
        raise UsageError(f"{shown} holds no run that a judge could look at: {why}.")
    mine = [run for run in runs if run.fixture == fixture.name]
    chosen = mine or [run for run in runs if not run.fixture]
    if not chosen:
        others = f"the first answers to {quote(runs[0].fixture)}"
        raise UsageError(f"{shown} holds no answer to {quote(fixture.name)}: {others}.")
    if not mine and len(chosen) > 1:
        raise UsageError(
            f"{shown} holds {len(chosen):,} runs, and nothing says which answers to "
            f"{quote(fixture.name)}.",
            hint="Name a file that holds the one to look at.",
        )
    return chosen[0]


def answer_of(run: Recorded) -> Answer:
    """Return a recorded run as the answer of a candidate: its calls, and what it said at last."""
    builder = TraceBuilder()
    for said in run.turns or (run.input.prompt,):
        builder.add(StepKind.USER, said)
    for call in run.calls:
        builder.add(StepKind.TOOL_CALL, tool=call.tool, arguments=call.arguments)
        if call.answered:
            told = json_text(call.result)
            result = told if call.error is None else call.error
            builder.add(StepKind.TOOL_RESULT, result, tool=call.tool)
    builder.add(StepKind.ASSISTANT, run.output)
    return Answer(
        output=run.output, trace=Trace(steps=builder.steps(), source="candidate"), seconds=0
    )


class _Overheard:
    """Passes calls on, and keeps what was said."""

    def __init__(self, calls: ModelCalls) -> None:
        self._calls = calls
        self.said: list[JudgeExchange] = []

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Fulfil `ModelCalls.call`."""
        reply = await self._calls.call(model, request, side=side)
        self.said.append(JudgeExchange(request, reply))
        return reply


def try_judge(
    environ: Mapping[str, str], name: str, *, trace: Path | None, model: str | None
) -> int:
    """Ask the judge about an answer to the fixture `[EVAL/]FIXTURE`, and print all that is said.

    The answer is that in the file `trace`, else head's in the last run. Returns 3 where a judge
    gave no verdict that counts. Raises `UsageError` and `MissingKey`.
    """
    settings = read_settings(dict(environ))
    repository = open_repository()
    revision = find_head(repository, None)
    policy = read_rules(repository, revision, rules_here(environ)).rules.policy
    snapshot = valid_snapshot(repository, revision)
    fixture, judge = _chosen(snapshot.catalogue, name, model)
    if fixture.name in sealed_fixtures(snapshot.catalogue):
        raise UsageError(
            f"{fixture.name} is sealed, and this would print its rubric.",
            hint="Unseal a copy of it where nobody looks on, and try the judge with that.",
        )
    refuse_unanswerable(judge.asked, snapshot, settings, policy)
    answer, said = answer_to(repository, fixture, trace)
    door = judges_gateway(repository, snapshot, settings, policy)
    found = asyncio.run(_asked(fixture, judge, answer, door))
    screen = screen_of(sys.stdout, environ)
    sys.stdout.write(render_judging(fixture, answer, found, said, screen))
    lost = any(isinstance(one.assessment, NotAssessed) for one in found)
    return EXIT_NOT_EVALUATED if lost else EXIT_PASS


async def _asked(
    fixture: Fixture,
    judge: JudgeSpec,
    answer: Answer,
    door: AbstractAsyncContextManager[Gateway],
) -> list[TriedAssertion]:
    """Ask about one assertion after the other, so that what was said can be told apart."""
    found = []
    async with door as gateway:
        for spec in fixture.assertions:
            if not spec.needs_judge or spec.type == PREFERENCE:
                continue
            overheard = _Overheard(gateway)
            alone = fixture.replace(assertions=(spec,))
            (assessment,), _ = await assess(alone, answer, Judge(overheard), judge)
            found.append(TriedAssertion(spec, assessment, tuple(overheard.said)))
    return found


def _chosen(catalogue: Catalogue, name: str, model: str | None) -> tuple[Fixture, JudgeSpec]:
    """Return the fixture with a judge: the model given, else that of an Eval which selects it."""
    evaluation, _, wanted = name.rpartition("/")
    selected = [
        (one, fixture)
        for one in catalogue.evals
        if evaluation in {"", one.name}
        for fixture in select_fixtures(one, catalogue)
        if fixture.name == wanted
    ]
    if not selected:
        names = [one.name for one in catalogue.fixtures]
        raise UsageError(f'No Eval has a fixture "{wanted}".{nearest(wanted, names)}')
    found, fixture = min(selected, key=lambda pair: not pair[0].judge.asked)
    if not fixture.is_judged:
        raise UsageError(f'No assertion of the fixture "{wanted}" asks a judge.')
    return fixture, _spec(found, model)


def _spec(evaluation: Eval, model: str | None) -> JudgeSpec:
    if model is not None:
        return evaluation.judge.alone(model)
    if not evaluation.judge.asked:
        raise UsageError(
            f"The {evaluation.kind} {evaluation.name} names no judge.",
            hint="Name one: gateval judge try FIXTURE --model PROVIDER/ID.",
        )
    return evaluation.judge
