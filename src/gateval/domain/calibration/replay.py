"""A replayed calibration: what the judge said of each example, and how far that agrees."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from gateval.domain.base import Name, Value
from gateval.domain.calibration.binding import Binding
from gateval.domain.statistics.estimates.kappa import Confusion, agreement, kappa, kappa_interval
from gateval.domain.trials.model_call import Usage

CUT = 0.5
"""A score of at least this is a pass, a person's as well as a judge's."""

MISSING_SHARE = 0.2
"""The largest part of the examples that a judge may leave without a verdict."""


class CalibrationPhase(StrEnum):
    """How a calibration stands: it agrees enough, it does not (any more), or nothing was scored."""

    CALIBRATED = "Calibrated"
    STALE = "Stale"
    FAILED = "Failed"


class JudgedExample(Value):
    """What a judge said of one example, counted from 1.

    `human` and `score` are in [0, 1]; `score` is None where the judge gave no verdict, and `error`
    says why. `label` is the person's reason, `summary` the judge's.
    """

    number: int = Field(ge=1)
    human: float = Field(ge=0, le=1)
    label: str = ""
    trace_ref: str = ""
    score: float | None = Field(default=None, ge=0, le=1)
    summary: str = ""
    error: str = ""

    @property
    def disagrees(self) -> bool:
        """Whether the judge passes what the person fails, or the other way round."""
        return self.score is not None and (self.score >= CUT) is not (self.human >= CUT)


class Agreement(Value):
    """How far a judge agrees with people, from the four counts of its table.

    `missing` examples got no verdict, and are not in the table.
    """

    true_pass: int = Field(default=0, ge=0)
    false_pass: int = Field(default=0, ge=0)
    false_fail: int = Field(default=0, ge=0)
    true_fail: int = Field(default=0, ge=0)
    missing: int = Field(default=0, ge=0)

    @property
    def table(self) -> Confusion:
        """The counts."""
        return Confusion(self.true_pass, self.false_pass, self.false_fail, self.true_fail)

    @property
    def scored(self) -> int:
        """How many examples the judge scored."""
        return self.true_pass + self.false_pass + self.false_fail + self.true_fail

    @property
    def kappa(self) -> float:
        """Cohen's kappa in [-1, 1]; 0 where it is not defined."""
        return kappa(self.table)

    @property
    def interval(self) -> tuple[float, float]:
        """Limits of about 95 % for kappa."""
        return kappa_interval(self.table)

    @property
    def raw(self) -> float:
        """The share in [0, 1] of scored examples on which judge and person agree."""
        return agreement(self.table)

    @property
    def prevalence(self) -> float | None:
        """The share in [0, 1] of scored examples that the person passes; None without any."""
        return self.table.passes / self.scored if self.scored else None

    @property
    def sensitivity(self) -> float | None:
        """The share in [0, 1] of the person's passes that the judge passes; None without any."""
        return self.true_pass / self.table.passes if self.table.passes else None

    @property
    def specificity(self) -> float | None:
        """The share in [0, 1] of the person's fails that the judge fails; None without any."""
        return self.true_fail / self.table.fails if self.table.fails else None

    @property
    def baseline(self) -> float | None:
        """The raw agreement of a judge that always says what most people say; None without any."""
        return max(self.table.passes, self.table.fails) / self.scored if self.scored else None

    @property
    def one_sided(self) -> bool:
        """Whether all scored examples have the same label, so that kappa can show nothing."""
        return bool(self.scored) and not (self.table.passes and self.table.fails)

    @property
    def too_few_scored(self) -> bool:
        """Whether more examples lack a verdict than may."""
        return self.missing > MISSING_SHARE * (self.scored + self.missing)


class StoredAgreement(Value):
    """What a run keeps of a replay."""

    calibration: Name
    binding: Binding
    counts: Agreement


class CalibrationReplay(Value):
    """A JudgeCalibration replayed by one judge.

    One that an earlier run made has no `examples` but its `counts`; `run` names that run.
    """

    version: Literal["calibration.v1"] = "calibration.v1"
    calibration: Name
    binding: Binding
    examples: tuple[JudgedExample, ...] = ()
    usage: Usage = Usage()
    counts: Agreement | None = None
    run: str = ""

    @model_validator(mode="after")
    def _examples_or_counts(self) -> Self:
        if bool(self.examples) is (self.counts is not None):
            raise ValueError("a replay has examples, or counts that an earlier run made")
        return self

    @cached_property
    def agreement(self) -> Agreement:
        """How far the judge agrees."""
        if self.counts is not None:
            return self.counts
        scored = [one for one in self.examples if one.score is not None]
        cells = [(one.score is not None and one.score >= CUT, one.human >= CUT) for one in scored]
        return Agreement(
            true_pass=cells.count((True, True)),
            false_pass=cells.count((True, False)),
            false_fail=cells.count((False, True)),
            true_fail=cells.count((False, False)),
            missing=len(self.examples) - len(scored),
        )

    @property
    def disagreements(self) -> tuple[JudgedExample, ...]:
        """The examples on which judge and person disagree, those first on which they do most."""
        found = [one for one in self.examples if one.disagrees]
        return tuple(sorted(found, key=lambda one: -abs((one.score or 0) - one.human)))
