"""What earlier runs measured of judges: how calibrations stand, and which need not be measured
again.

They are believed on the terms of stored base trials (`baseline.py`): a run of the default branch,
by the forge's word, that uploaded the same record.

The keys are those of the document behind `pai.io/v1`. What is shown here may be a stranger's word:
it decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import digest
from gateval.domain.calibration import (
    LEAST_AGREEMENT,
    Agreement,
    Binding,
    CalibrationPhase,
    CalibrationReplay,
    StoredAgreement,
    phase_of,
    show_kappa,
)
from gateval.domain.history.baseline import MOST_RUNS, Home, of_home
from gateval.domain.history.run_record import RunRecord
from gateval.domain.history.status import StatusRow
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.evaluation import Calibration, Eval, JudgeSpec
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.doubts import binding_now, judge_doubt
from gateval.domain.results.results import Results


def stored_agreements(results: Results) -> tuple[StoredAgreement, ...]:
    """Return what a run keeps of the calibrations that it replayed itself."""
    return tuple(
        StoredAgreement(calibration=one.calibration, binding=one.binding, counts=one.agreement)
        for one in results.calibrations
        if one.examples
    )


def believed_setting(results: Results, planned: PlannedEval, setting: str) -> str:
    """Return the setting's digest; another one where the judge's word did not count.

    Trials in which it counts are no trials of the same thing.
    """
    doubt = judge_doubt(planned, results.calibrations, results.plan.policy.judge)
    return digest([setting, "uncalibrated"]) if doubt else setting


def wanted_agreements(plan: Plan, prompt: str) -> dict[str, Binding]:
    """Return what a plan would replay, by digest; `prompt` is that of our words to judges."""
    bound = (binding_now(plan, one, prompt) for one in plan.evals if one.wants_calibration)
    return {one.digest: one for one in bound if one is not None}


def agreement_donors(
    wanted: Iterable[str], records: Iterable[RunRecord], home: Home, *, since: str
) -> tuple[RunRecord, ...]:
    """Return the newest run that holds each agreement that is wanted, by what it says of itself.

    `since` is the oldest moment (ISO 8601) that counts.
    """
    missing, found = set(wanted), list[RunRecord]()
    for record in of_home(records, home, since=since):
        if not missing or len(found) == MOST_RUNS:
            break
        held = {one.binding.digest for one in record.agreements} & missing
        if held:
            found.append(record)
            missing -= held
    return tuple(found)


def with_agreements(plan: Plan, wanted: Mapping[str, Binding], proven: Sequence[RunRecord]) -> Plan:
    """Return the plan with the agreements of these records, which have to be confirmed."""
    known = {
        one.binding.digest: CalibrationReplay(
            calibration=one.calibration, binding=one.binding, counts=one.counts, run=record.id
        )
        for record in reversed(proven)
        for one in record.agreements
    }
    found = tuple(known[name] for name in sorted(wanted) if name in known)
    return plan.replace(agreements=found) if found else plan


_BEST_FIRST = (CalibrationPhase.CALIBRATED, CalibrationPhase.STALE, CalibrationPhase.FAILED)

Bind = Callable[[Calibration, JudgeSpec], Binding]
"""Returns what a replay of a calibration by a judge would be bound to now."""


class DatedAgreement(NamedTuple):
    """An agreement, and when it was measured (ISO 8601 in UTC)."""

    at: str
    agreement: StoredAgreement


def calibration_rows(
    catalogue: Catalogue, measured: Sequence[DatedAgreement], bind: Bind
) -> list[StatusRow]:
    """Return each calibration with the newest agreement of each judge; newest ones come first."""
    rows = []
    for one in sorted(catalogue.calibrations, key=lambda one: one.name):
        evals = [e for e in catalogue.evals if e.judge.calibration == one.name]
        row: StatusRow = {
            "name": one.name,
            "phase": "Pending",
            "judgeModels": list(one.judge_models),
            "examples": len(one.examples),
            "evals": [e.name for e in evals],
            "place": f"{one.place.file}:{one.place.line}",
        }
        rows.append(row | _standing(one, evals, _newest(one.name, measured), bind))
    return rows


def judge_agreement(evaluation: Eval, measured: Iterable[DatedAgreement]) -> str:
    """Return the newest kappa of an Eval's judge to two digits; empty where none is known."""
    for one in measured:
        bound = one.agreement.binding
        named = one.agreement.calibration == evaluation.judge.calibration
        if named and bound.model == evaluation.judge.model:
            return show_kappa(one.agreement.counts)
    return ""


def _newest(name: str, measured: Iterable[DatedAgreement]) -> list[DatedAgreement]:
    """The newest agreement of each judge."""
    found: dict[tuple[str, float], DatedAgreement] = {}
    for one in measured:
        bound = one.agreement.binding
        if one.agreement.calibration == name:
            found.setdefault((bound.model, bound.temperature), one)
    return list(found.values())


def _standing(
    calibration: Calibration, evals: Sequence[Eval], newest: Sequence[DatedAgreement], bind: Bind
) -> StatusRow:
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
        phases.append(phase_of(counts, least, changed=bound != now))
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
