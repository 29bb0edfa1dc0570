"""The agreements of judges that are known here: from runs, and from `gateval calibrate`."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.adapters.results_folder import PARENTS, run_folders
from gateval.app.run.views import CALIBRATIONS_FILE
from gateval.app.run_history import Runs
from gateval.domain.calibration import Binding, StoredAgreement, binding_of
from gateval.domain.history.agreements import Bind, DatedAgreement
from gateval.domain.manifests.evaluation import Calibration, JudgeSpec, script_name
from gateval.domain.planning.snapshot import Snapshot

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
