"""What `calibrate` does: replay calibrations, show how far judges agree with people.

The agreements of judges that are known here: from runs, and from `gateval calibrate`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gateval.adapters.folders import write_whole
from gateval.adapters.git.repository import open_repository
from gateval.adapters.machine import SystemClock, screen_of
from gateval.adapters.results_folder import (
    PARENTS,
    ResultsFolder,
    create_results_folder,
    run_folders,
)
from gateval.app.planning import announce_worktree
from gateval.app.readers import registries, rules_here
from gateval.app.run.views import CALIBRATIONS_FILE
from gateval.app.run_history import Runs
from gateval.domain.calibration import (
    LEAST_AGREEMENT,
    Binding,
    CalibrationPhase,
    CalibrationReplay,
    StoredAgreement,
    binding_of,
)
from gateval.domain.history.baseline import Bind, DatedAgreement
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Calibration, Eval, JudgeSpec, script_name
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.planning.selection import refuse_names
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.results.self_check import CalibratedJudge, CalibrationReport
from gateval.domain.trials.trial import Side
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS, MissingKey, UsageError
from gateval.judging.presets import preset
from gateval.pipeline.read import find_head, read_revision, read_rules
from gateval.settings import Settings, read_settings

if TYPE_CHECKING:
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
    known = [one.name for one in catalogue.calibrations]
    refuse_names("JudgeCalibration", names, known)
    if not known:
        raise UsageError(
            "There is no JudgeCalibration on this revision.",
            hint="`gateval challenge` begins one from a verdict that you do not share.",
        )
    wanted = [one for one in catalogue.calibrations if not names or one.name in names]
    return [asked for one in wanted for asked in _judges(one, catalogue, models)]


def judges_of_preset(name: str, catalogue: Catalogue, models: Sequence[str]) -> list[AskedJudge]:
    """Return the judges of a preset: the models given, else those of the Evals.

    Raises `UsageError` for a preset that is not there, and where there is no judge.
    """
    try:
        chosen = preset(name)
    except ValueError as error:
        raise UsageError(str(error)) from None
    judging = [one.judge for one in catalogue.evals if one.judge.model is not None]
    specs = dict.fromkeys(
        (str(one.model), one.temperature) for one in judging if not models
    ) or dict.fromkeys((model, 0.0) for model in models)
    if not specs:
        raise UsageError(
            "No Eval on this revision names a judge to measure.",
            hint="Name one: gateval calibrate --preset NAME --model PROVIDER/ID.",
        )
    return [
        AskedJudge(
            chosen.calibration(model),
            JudgeSpec(model=model, temperature=temperature),
            LEAST_AGREEMENT,
        )
        for model, temperature in specs
    ]


def _judges(
    calibration: Calibration, catalogue: Catalogue, models: Sequence[str]
) -> list[AskedJudge]:
    """The judges of a calibration: those it lists and those of the Evals that name it."""
    naming = [one for one in catalogue.evals if one.judge.calibration == calibration.name]
    judging = [one for one in naming if one.judge.model is not None]
    found: dict[tuple[str, float], AskedJudge] = {}
    for model in models or (*calibration.judge_models, *(str(e.judge.model) for e in judging)):
        mine = [one for one in judging if one.judge.model == model]
        for temperature in dict.fromkeys(one.judge.temperature for one in mine) or (0.0,):
            spec = JudgeSpec(model=model, temperature=temperature)
            found[model, temperature] = AskedJudge(calibration, spec, _least(mine or naming))
    return list(found.values())


def _least(evals: Sequence[Eval]) -> float:
    """The highest kappa that one of these Evals asks."""
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


def judges_gateway(snapshot: Snapshot, settings: Settings, policy: Policy) -> Gateway:
    """Return the gateway, to be entered: it holds the keys, the scripts of this revision, and the
    limits of its policy.
    """
    from gateval.adapters.list_prices import ListPrices
    from gateval.gateway.door import Gateway
    from gateval.gateway.ledger import SpendingLimits
    from gateval.gateway.upstream.retry import RetryPolicy

    return Gateway(
        settings.upstreams,
        {Side.HEAD: snapshot.scripts},
        prices=None if policy.budget.usd is None else ListPrices(),
        own_prices=policy.prices,
        limits=SpendingLimits.under(policy),
        policy=RetryPolicy(outage_seconds=settings.outage_seconds),
        ca_file=settings.ca_file,
    )


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
) -> int:
    """Replay the named calibrations, all without a name, and print how far judges agree.

    `presets` are those that come with the gate; if some are named, only what is named is replayed.
    Raises `UsageError` for a name that is not there, `MissingKey` for a model that cannot be asked.
    """
    from gateval.render.stage import dump
    from gateval.render.terminal.judges import render_calibration
    from gateval.safe.redaction import Redactor

    settings = read_settings(environ)
    repository = open_repository(Path.cwd())
    revision = find_head(repository, rev)
    announce_worktree(revision)
    under = read_rules(repository, revision, rules_here(environ))
    snapshot = read_revision(repository, registries(), revision, under.config)
    catalogue, policy = snapshot.catalogue, under.rules.policy
    asked = judges_asked(catalogue, names, models) if names or not presets else []
    asked += [one for name in presets for one in judges_of_preset(name, catalogue, models)]
    refuse_unanswerable([str(one.spec.model) for one in asked], snapshot, settings, policy)
    made, over_budget = asyncio.run(_replays(asked, snapshot, settings, policy))
    replays = map(Redactor(settings.secrets).value, made)
    rows = [
        CalibratedJudge.of(replay, one.least, policy.judge.agreement)
        for one, replay in zip(asked, replays, strict=True)
    ]
    rows.sort(key=lambda one: (one.calibration, -(-1.0 if one.kappa is None else one.kappa)))
    found = CalibrationReport(revision=revision, judges=tuple(rows))
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    _write(found, folder, plot)
    screen = screen_of(sys.stdout, environ)
    shown = render_calibration(found, width=screen.width, color=screen.color)
    sys.stdout.write(dump(found) if as_json else shown)
    print(f"Results: {folder.path}", file=sys.stderr)
    if over_budget:
        print(f"gateval: {over_budget}", file=sys.stderr)
    phases = {one.phase for one in found.judges}
    if over_budget or CalibrationPhase.FAILED in phases:
        return EXIT_NOT_EVALUATED
    return EXIT_FAILED if CalibrationPhase.STALE in phases else EXIT_PASS


def _write(found: CalibrationReport, folder: ResultsFolder, plot: Path | None) -> None:
    from gateval.render.plots import render_calibration_plot
    from gateval.render.stage import dump

    drawn = render_calibration_plot(found)
    folder.write(CALIBRATIONS_FILE, dump(found).encode())
    folder.write(PLOT_FILE, drawn.encode())
    if plot is not None:
        try:
            write_whole(plot, drawn.encode())
        except OSError as error:
            raise UsageError(
                f"The plot could not be written to {plot}: {error.strerror}."
            ) from error


async def _replays(
    asked: Sequence[AskedJudge], snapshot: Snapshot, settings: Settings, policy: Policy
) -> tuple[tuple[CalibrationReplay, ...], str]:
    """Return the replays, and why not all examples were judged if the policy gave no more calls."""
    from gateval.judging.judge import Judge, replay

    found = []
    async with judges_gateway(snapshot, settings, policy) as gateway:
        for one in asked:
            name = script_name(one.spec.model)
            script = snapshot.scripts[name].digest if name else ""
            judge = Judge(gateway)
            found.append(await replay(one.calibration, one.spec, judge, script=script))
    return tuple(found), gateway.ledger.told if gateway.ledger.ended else ""


_RUNS = 30
_FILES = 20
_FILE_LIMIT = 16 * 1024 * 1024


def known_agreements(runs: Runs, snapshot: Snapshot) -> list[DatedAgreement]:
    """Return what is known of the calibrations here, the newest first."""
    names = [one.name for one in snapshot.catalogue.calibrations]
    if not names:
        return []
    of_runs = (
        DatedAgreement(record.at, one)
        for _, record in zip(range(_RUNS), runs.newest(names), strict=False)
        for one in record.agreements
    )
    return sorted([*of_runs, *_of_folders(runs)], key=lambda one: one.at, reverse=True)


def binding(snapshot: Snapshot) -> Bind:
    """Return what tells to what a replay would be bound on this revision."""
    from gateval.judging.judge import prompt_digest

    def bind(calibration: Calibration, spec: JudgeSpec) -> Binding:
        script = snapshot.scripts.get(script_name(spec.model) or "")
        digest = script.digest if script else ""
        return binding_of(calibration, spec, prompt=prompt_digest(), script=digest)

    return bind


def _of_folders(runs: Runs) -> Iterator[DatedAgreement]:
    """What `gateval calibrate` left in this clone. A pull request can bring such files, too."""
    from pydantic import ValidationError

    from gateval.domain.results.self_check import CalibrationReport

    folders = sorted(run_folders(runs.root, (CALIBRATIONS_FILE,)), reverse=True)
    for name in folders[:_FILES]:
        file = runs.root.joinpath(*PARENTS, name, CALIBRATIONS_FILE)
        try:
            if file.stat().st_size > _FILE_LIMIT:
                continue
            report = CalibrationReport.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            continue
        for one in report.judges:
            bound, counts = one.replay.binding, one.replay.agreement
            kept = StoredAgreement(calibration=one.calibration, binding=bound, counts=counts)
            day, clock = name[:8], name[9:15]
            yield DatedAgreement(
                f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}Z", kept
            )
