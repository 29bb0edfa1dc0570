"""How calibrations stand: what runs measured of judges, held against manifests as they are now.

The keys are those of the document behind `pai.io/v1`. What is shown here may be a stranger's word:
it decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.calibration.belief import LEAST_AGREEMENT, phase_of, show_kappa
from gateval.domain.calibration.binding import Binding
from gateval.domain.calibration.replay import Agreement, CalibrationPhase, StoredAgreement
from gateval.domain.history.runs.rows import Row
from gateval.domain.manifests.calibration import Calibration
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Eval, JudgeSpec

_BEST_FIRST = (CalibrationPhase.CALIBRATED, CalibrationPhase.STALE, CalibrationPhase.FAILED)

Bind = Callable[[Calibration, JudgeSpec], Binding]
"""Returns what a replay of a calibration by a judge would be bound to now."""


class Measured(NamedTuple):
    """An agreement, and when it was measured (ISO 8601 in UTC)."""

    at: str
    agreement: StoredAgreement


def calibration_rows(catalogue: Catalogue, measured: Sequence[Measured], bind: Bind) -> list[Row]:
    """Return each calibration with the newest agreement of each judge; newest ones come first."""
    rows = []
    for one in sorted(catalogue.calibrations, key=lambda one: one.name):
        evals = [e for e in catalogue.evals if e.judge.calibration == one.name]
        row: Row = {
            "name": one.name,
            "phase": "Pending",
            "judgeModels": list(one.judge_models),
            "examples": len(one.examples),
            "evals": [e.name for e in evals],
            "place": f"{one.place.file}:{one.place.line}",
        }
        rows.append(row | _standing(one, evals, _newest(one.name, measured), bind))
    return rows


def judge_agreement(evaluation: Eval, measured: Iterable[Measured]) -> str:
    """Return the newest kappa of an Eval's judge to two digits; empty where none is known."""
    for one in measured:
        bound = one.agreement.binding
        named = one.agreement.calibration == evaluation.judge.calibration
        if named and bound.model == evaluation.judge.model:
            return show_kappa(one.agreement.counts)
    return ""


def _newest(name: str, measured: Iterable[Measured]) -> list[Measured]:
    """The newest agreement of each judge."""
    found: dict[tuple[str, float], Measured] = {}
    for one in measured:
        bound = one.agreement.binding
        if one.agreement.calibration == name:
            found.setdefault((bound.model, bound.temperature), one)
    return list(found.values())


def _standing(
    calibration: Calibration, evals: Sequence[Eval], newest: Sequence[Measured], bind: Bind
) -> Row:
    if not newest:
        return {}
    asked = [e.judge.min_agreement for e in evals if e.judge.min_agreement is not None]
    least = max(asked, default=LEAST_AGREEMENT)
    phases: list[CalibrationPhase] = []
    scored: list[Agreement] = []
    by_model: dict[str, JsonValue] = {}
    for one in newest:
        bound, counts = one.agreement.binding, one.agreement.counts
        now = bind(calibration, JudgeSpec(model=bound.model, temperature=bound.temperature))
        phases.append(phase_of(counts, bound, now, least))
        by_model[bound.model] = show_kappa(counts)
        if counts.scored:
            scored.append(counts)
    return {
        "phase": min(phases, key=_BEST_FIRST.index).value,
        "agreement": show_kappa(max(scored, key=lambda one: one.kappa, default=Agreement())),
        "agreementByModel": by_model,
        "judgesEvaluated": [*by_model],
        "lastReplayAt": max(one.at for one in newest),
    }
