"""What `calibrate` does: replay calibrations, show how far judges agree with people."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gateval.adapters.clock import SystemClock
from gateval.adapters.git import open_repository
from gateval.adapters.results_folder import create_results_folder
from gateval.adapters.screen import screen_of
from gateval.app.names import CALIBRATIONS_FILE
from gateval.app.planning import announce_worktree
from gateval.app.registries import registries
from gateval.app.shared_rules import rules_here
from gateval.domain.calibration.belief import LEAST_AGREEMENT
from gateval.domain.calibration.replay import CalibrationPhase, CalibrationReplay
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Eval, JudgeSpec
from gateval.domain.planning.selection import script_name
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.repository.place import nearest
from gateval.domain.results.calibration_report import CalibratedJudge, CalibrationReport
from gateval.domain.trials.trial import Side
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS, MissingKey, UsageError
from gateval.pipeline.read import read_revision
from gateval.pipeline.revisions import find_head
from gateval.pipeline.rules import read_rules
from gateval.settings import Settings, read_settings

PLOT_FILE = "calibrations.svg"


class _Asked(NamedTuple):
    """A judge to measure, and the kappa that is asked of it."""

    calibration: Calibration
    spec: JudgeSpec
    least: float


def calibrate_judges(
    environ: dict[str, str],
    names: Sequence[str],
    models: Sequence[str],
    *,
    rev: str | None,
    plot: Path | None,
    results: Path | None,
    as_json: bool,
) -> int:
    """Replay the named calibrations, all without a name, and print how far judges agree.

    Raises `UsageError` for a name that is not there, `MissingKey` for a model that cannot be asked.
    """
    from gateval.render.files.calibration_plot import render_calibration_plot
    from gateval.render.files.stage import dump
    from gateval.render.terminal.calibration import render_calibration
    from gateval.safe.redaction import Redactor

    settings = read_settings(environ)
    repository = open_repository(Path.cwd())
    revision = find_head(repository, rev)
    announce_worktree(revision)
    under = read_rules(repository, revision, rules_here(environ))
    snapshot = read_revision(repository, registries(), revision, under.config)
    asked = _asked(snapshot, names, models)
    _refuse_unanswerable(asked, snapshot, settings)
    estimate = under.rules.policy.judge.agreement
    redactor = Redactor(settings.secrets)
    replays = map(redactor.value, asyncio.run(_replays(asked, snapshot, settings)))
    rows = [
        CalibratedJudge.of(replay, one.least, estimate)
        for one, replay in zip(asked, replays, strict=True)
    ]
    rows.sort(key=lambda one: (one.calibration, -one.kappa))
    found = CalibrationReport(revision=revision, judges=tuple(rows))
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    folder.write(CALIBRATIONS_FILE, dump(found).encode())
    folder.write(PLOT_FILE, render_calibration_plot(found).encode())
    if plot is not None:
        _write_plot(plot, render_calibration_plot(found))
    screen = screen_of(sys.stdout, environ)
    shown = render_calibration(found, width=screen.width, color=screen.color)
    sys.stdout.write(dump(found) if as_json else shown)
    print(f"Results: {folder.path}", file=sys.stderr)
    return _exit_code(found)


def _exit_code(found: CalibrationReport) -> int:
    phases = {one.phase for one in found.judges}
    if CalibrationPhase.FAILED in phases:
        return EXIT_NOT_EVALUATED
    return EXIT_FAILED if CalibrationPhase.STALE in phases else EXIT_PASS


def _asked(snapshot: Snapshot, names: Sequence[str], models: Sequence[str]) -> list[_Asked]:
    catalogue = snapshot.catalogue
    known = [one.name for one in catalogue.calibrations]
    for name in names:
        if name not in known:
            raise UsageError(
                f'There is no JudgeCalibration "{name}" on this revision.{nearest(name, known)}',
                hint=f"Known: {', '.join(sorted(known)[:20]) or 'none'}.",
            )
    if not known:
        raise UsageError(
            "There is no JudgeCalibration on this revision.",
            hint="`gateval challenge` begins one from a verdict that you do not share.",
        )
    wanted = [one for one in catalogue.calibrations if not names or one.name in names]
    return [asked for one in wanted for asked in _judges(one, catalogue, models)]


def _judges(calibration: Calibration, catalogue: Catalogue, models: Sequence[str]) -> list[_Asked]:
    """The judges of a calibration: those it lists and those of the Evals that name it."""
    naming = [one for one in catalogue.evals if one.judge.calibration == calibration.name]
    judging = [one for one in naming if one.judge.model is not None]
    found: dict[tuple[str, float], _Asked] = {}
    for model in models or (*calibration.judge_models, *(str(e.judge.model) for e in judging)):
        mine = [one for one in judging if one.judge.model == model]
        for temperature in dict.fromkeys(one.judge.temperature for one in mine) or (0.0,):
            spec = JudgeSpec(model=model, temperature=temperature)
            found[model, temperature] = _Asked(calibration, spec, _least(mine or naming))
    return list(found.values())


def _least(evals: Sequence[Eval]) -> float:
    """The highest kappa that one of these Evals asks."""
    asked = [one.judge.min_agreement for one in evals]
    return max((LEAST_AGREEMENT if a is None else a for a in asked), default=LEAST_AGREEMENT)


def _refuse_unanswerable(asked: Sequence[_Asked], snapshot: Snapshot, settings: Settings) -> None:
    from gateval.gateway.upstream.endpoints import missing_keys

    models = sorted({str(one.spec.model) for one in asked})
    missing = missing_keys(models, settings.upstreams)
    if missing:
        raise MissingKey(" ".join(missing), hint="Keys belong in the environment of gateval.")
    for model in models:
        script = script_name(model)
        if script is not None and script not in snapshot.scripts:
            raise UsageError(f"No manifest on this revision names the scripted model {model}.")


async def _replays(
    asked: Sequence[_Asked], snapshot: Snapshot, settings: Settings
) -> tuple[CalibrationReplay, ...]:
    from gateval.gateway.door import Gateway
    from gateval.gateway.upstream.retry import RetryPolicy
    from gateval.judging.judge import Judge
    from gateval.judging.replay import replay

    policy = RetryPolicy(outage_seconds=settings.outage_seconds)
    scripts = {Side.HEAD: snapshot.scripts}
    found = []
    async with Gateway(
        settings.upstreams, scripts, policy=policy, ca_file=settings.ca_file
    ) as gateway:
        for one in asked:
            name = script_name(one.spec.model)
            script = snapshot.scripts[name].digest if name else ""
            judge = Judge(gateway)
            found.append(await replay(one.calibration, one.spec, judge, script=script))
    return tuple(found)


def _write_plot(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"The plot could not be written to {path}: {error.strerror}.") from error
