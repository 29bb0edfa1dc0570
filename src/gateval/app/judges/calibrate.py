"""What `calibrate` does: replay calibrations, show how far judges agree with people."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gateval.adapters.clock import SystemClock
from gateval.adapters.folders import opened_folder, replace_file
from gateval.adapters.git import open_repository
from gateval.adapters.results_folder import ResultsFolder, create_results_folder
from gateval.adapters.screen import screen_of
from gateval.app.judges.asked import AskedJudge, judges_asked, judges_of_preset
from gateval.app.judges.door import judges_gateway, refuse_unanswerable
from gateval.app.names import CALIBRATIONS_FILE
from gateval.app.planning import announce_worktree
from gateval.app.registries import registries
from gateval.app.shared_rules import rules_here
from gateval.domain.calibration.replay import CalibrationPhase, CalibrationReplay
from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.manifests.policy.words import AgreementPolicy
from gateval.domain.manifests.scripted import script_name
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.results.calibration_report import CalibratedJudge, CalibrationReport
from gateval.errors import EXIT_FAILED, EXIT_NOT_EVALUATED, EXIT_PASS, UsageError
from gateval.pipeline.read import read_revision
from gateval.pipeline.revisions import find_head
from gateval.pipeline.rules import read_rules
from gateval.settings import Settings, read_settings

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
    from gateval.render.files.stage import dump
    from gateval.render.terminal.calibration import render_calibration
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
    rows = _rows(asked, replays, policy.judge.agreement)
    found = CalibrationReport(revision=revision, judges=tuple(rows))
    folder = create_results_folder(repository.root, SystemClock(), chosen=results)
    _write(found, folder, plot)
    screen = screen_of(sys.stdout, environ)
    shown = render_calibration(found, width=screen.width, color=screen.color)
    sys.stdout.write(dump(found) if as_json else shown)
    print(f"Results: {folder.path}", file=sys.stderr)
    if over_budget:
        print(f"gateval: {over_budget}", file=sys.stderr)
    return EXIT_NOT_EVALUATED if over_budget else _exit_code(found)


def _rows(
    asked: Sequence[AskedJudge], replays: Iterable[CalibrationReplay], estimate: AgreementPolicy
) -> list[CalibratedJudge]:
    rows = [
        CalibratedJudge.of(replay, one.least, estimate)
        for one, replay in zip(asked, replays, strict=True)
    ]
    return sorted(
        rows, key=lambda one: (one.calibration, -(-1.0 if one.kappa is None else one.kappa))
    )


def _write(found: CalibrationReport, folder: ResultsFolder, plot: Path | None) -> None:
    from gateval.render.files.calibration_plot import render_calibration_plot
    from gateval.render.files.stage import dump

    drawn = render_calibration_plot(found)
    folder.write(CALIBRATIONS_FILE, dump(found).encode())
    folder.write(PLOT_FILE, drawn.encode())
    if plot is not None:
        _write_plot(plot, drawn)


def _exit_code(found: CalibrationReport) -> int:
    phases = {one.phase for one in found.judges}
    if CalibrationPhase.FAILED in phases:
        return EXIT_NOT_EVALUATED
    return EXIT_FAILED if CalibrationPhase.STALE in phases else EXIT_PASS


async def _replays(
    asked: Sequence[AskedJudge], snapshot: Snapshot, settings: Settings, policy: Policy
) -> tuple[tuple[CalibrationReplay, ...], str]:
    """Return the replays, and why not all examples were judged if the policy gave no more calls."""
    from gateval.judging.judge import Judge
    from gateval.judging.replay import replay

    found = []
    async with judges_gateway(snapshot, settings, policy) as gateway:
        for one in asked:
            name = script_name(one.spec.model)
            script = snapshot.scripts[name].digest if name else ""
            judge = Judge(gateway)
            found.append(await replay(one.calibration, one.spec, judge, script=script))
    return tuple(found), gateway.ledger.told if gateway.ledger.ended else ""


def _write_plot(path: Path, text: str) -> None:
    try:
        with opened_folder(path.parent) as folder:
            replace_file(folder, path.name, text.encode())
    except OSError as error:
        raise UsageError(f"The plot could not be written to {path}: {error.strerror}.") from error
