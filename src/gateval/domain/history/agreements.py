"""Which agreements of judges that earlier runs measured need not be measured again.

They are believed on the terms of stored base trials (`baseline.py`): a run of the default branch,
by the forge's word, that uploaded the same record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gateval.domain.base import digest
from gateval.domain.calibration.binding import Binding
from gateval.domain.calibration.replay import CalibrationReplay, StoredAgreement
from gateval.domain.history.baseline import MOST_RUNS, Home, of_home
from gateval.domain.history.runs.record import RunRecord
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.results.doubts.judges import binding_now, judge_doubt
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
    return plan.model_copy(update={"agreements": found}) if found else plan
