"""What `gateval calibrate` found: one row for each judge, with all figures a reader may want."""

from __future__ import annotations

from typing import Literal, Self

from gateval.domain.base import Name, Value
from gateval.domain.calibration.belief import phase_of, why_not
from gateval.domain.calibration.replay import Agreement, CalibrationPhase, CalibrationReplay
from gateval.domain.manifests.policy.words import AgreementPolicy
from gateval.domain.plan.plan import Revision


class CalibratedJudge(Value):
    """One judge against one calibration; figures as in `Agreement`, None where they do not exist.

    `least` is the kappa asked, by `estimate`; `why` says why the phase is not `Calibrated`.
    """

    calibration: Name
    model: str
    temperature: float
    phase: CalibrationPhase
    why: str
    least: float
    estimate: AgreementPolicy
    kappa: float | None
    low: float | None
    high: float | None
    scored: int
    missing: int
    prevalence: float | None
    sensitivity: float | None
    specificity: float | None
    raw_agreement: float | None
    constant_baseline: float | None
    table: Agreement
    replay: CalibrationReplay

    @classmethod
    def of(cls, replay: CalibrationReplay, least: float, estimate: AgreementPolicy) -> Self:
        """Return the row of a replay that was made now."""
        found, bound = replay.agreement, replay.binding
        known = bool(found.scored)  # without a verdict there is nothing to agree with
        low, high = found.interval if known else (None, None)
        return cls(
            calibration=replay.calibration,
            model=bound.model,
            temperature=bound.temperature,
            phase=phase_of(found, bound, bound, least, estimate),
            why=why_not(found, bound, bound, least, estimate),
            least=least,
            estimate=estimate,
            kappa=found.kappa if known else None,
            low=low,
            high=high,
            scored=found.scored,
            missing=found.missing,
            prevalence=found.prevalence,
            sensitivity=found.sensitivity,
            specificity=found.specificity,
            raw_agreement=found.raw if known else None,
            constant_baseline=found.baseline,
            table=found,
            replay=replay,
        )


class CalibrationReport(Value):
    """All judges that were replayed on a revision, the best of each calibration first."""

    version: Literal["calibrations.v1"] = "calibrations.v1"
    revision: Revision
    judges: tuple[CalibratedJudge, ...]

    @property
    def calibrations(self) -> tuple[str, ...]:
        """The names of the calibrations, each once."""
        return tuple(dict.fromkeys(one.calibration for one in self.judges))

    def of(self, calibration: str) -> tuple[CalibratedJudge, ...]:
        """The judges of one calibration."""
        return tuple(one for one in self.judges if one.calibration == calibration)
