"""What `aa` and `calibrate` found: how the gate and its judges do, with all figures a reader may
want.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from gateval.domain.base import Name, Value
from gateval.domain.calibration import (
    Agreement,
    CalibrationPhase,
    CalibrationReplay,
    labels_wanted,
    phase_of,
    why_not,
)
from gateval.domain.manifests.gate_config import AgreementPolicy
from gateval.domain.plan.plan import Plan
from gateval.domain.results.compare import compare
from gateval.domain.results.comparison import Comparison, FixtureChange
from gateval.domain.results.fixture_progress import rules_of
from gateval.domain.results.jury_figures import JuryFigures, jury_figures
from gateval.domain.results.results import Results
from gateval.domain.statistics.design import counted_only
from gateval.domain.statistics.power import Rates, RunSettings, simulated
from gateval.domain.statistics.walk import power
from gateval.domain.tree import Revision

DROPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
BROAD_DROP = 0.15

_SIMULATED = 1_000
_SEED = 1


class FixtureRate(Value):
    """How often a fixture passed in the trials that were planned, on both sides together."""

    eval: str
    fixture: str
    passes: int
    trials: int

    @property
    def rate(self) -> float:
        """The share of passes in [0, 1]; 0 without a trial."""
        return self.passes / self.trials if self.trials else 0.0


class Power(Value):
    """The chance, in [0, 1], that a drop of one fixture's pass rate is found."""

    drop: float
    chance: float


class SelfCheck(Value):
    """What `gateval aa` found.

    `alarms` of `runs` blocked an unchanged agent; `lost` runs could not be measured and are none of
    them. `trials` is the mean of both sides in one run, `planned` what one repetition plan asks.
    `power` averages over the fixtures; `broad_power` is the chance that 15 points less everywhere
    are found. `simulated_alarms` is the share of simulated unchanged runs with these rates.
    """

    version: Literal["self-check.v1"] = "self-check.v1"
    runs: int
    alarms: int
    lost: int
    trials: float
    planned: int
    rates: tuple[FixtureRate, ...]
    power: tuple[Power, ...]
    broad_power: float
    simulated_alarms: float


def self_check(plan: Plan, runs: Sequence[Results]) -> SelfCheck:
    """Return what runs of a plan against itself say. There is at least one run."""
    compared = [compare(results) for results in runs]
    measured = [one for one in compared if not _is_lost(one)]
    rates = tuple(_rates(plan, runs))
    reps = plan.evals[0].execution.reps_per_fixture
    return SelfCheck(
        runs=len(measured),
        alarms=sum(any(one.regressed for one in found.evals) for found in measured),
        lost=len(compared) - len(measured),
        trials=sum(len(results.trials) for results in runs) / len(runs),
        planned=plan.trial_count,
        rates=rates,
        power=tuple(Power(drop=drop, chance=_power(plan, rates, drop)) for drop in DROPS),
        broad_power=_simulated(plan, rates, BROAD_DROP, reps),
        simulated_alarms=_simulated(plan, rates, 0.0, reps),
    )


def _is_lost(comparison: Comparison) -> bool:
    """Whether something was not measured, or an agent gave no answer at all."""
    return any(
        fixture.change is FixtureChange.INCONCLUSIVE
        or fixture.missing
        or fixture.head_all.silent == fixture.head_all.trials
        for compared in comparison.evals
        for fixture in compared.fixtures
    )


def _rates(plan: Plan, runs: Sequence[Results]) -> list[FixtureRate]:
    """Of the planned repetitions alone: those that were added were made where it looked worse."""
    passed: dict[tuple[str, str], list[bool]] = {
        (planned.name, fixture.name): [] for planned in plan.evals for fixture in planned.fixtures
    }
    reps = {planned.name: planned.execution.reps_per_fixture for planned in plan.evals}
    for results in runs:
        for trial in results.trials:
            key = trial.key
            if key.repetition <= reps[key.eval] and trial.passed is not None:
                passed[key.eval, key.fixture].append(trial.passed)
    return [
        FixtureRate(eval=name, fixture=fixture, passes=sum(found), trials=len(found))
        for (name, fixture), found in passed.items()
    ]


def _power(plan: Plan, rates: Sequence[FixtureRate], drop: float) -> float:
    chances = []
    rules = {planned.name: rules_of(planned) for planned in plan.evals}
    for one in rates:
        rule = rules[one.eval].design_of(one.fixture) or counted_only(rules[one.eval].first)
        chances.append(power(rule, one.rate, max(0.0, one.rate - drop)))
    return sum(chances) / len(chances)


def _simulated(plan: Plan, rates: Sequence[FixtureRate], drop: float, reps: int) -> float:
    """The share of simulated runs that block, with all fixtures `drop` below their rates."""
    evals = []
    for planned in plan.evals:
        base = tuple(one.rate for one in rates if one.eval == planned.name)
        evals.append(Rates(base=base, head=tuple(max(0.0, rate - drop) for rate in base)))
    found = simulated(_SEED, evals, RunSettings(reps_per_fixture=reps), _SIMULATED)
    return sum(run.blocked for run in found) / _SIMULATED


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
    jury: JuryFigures | None = Field(default=None, exclude_if=operator.not_)
    replay: CalibrationReplay

    @classmethod
    def of(cls, replay: CalibrationReplay, least: float, estimate: AgreementPolicy) -> Self:
        """Return the row of a replay that was made now."""
        found, bound = replay.agreement, replay.binding
        known = bool(found.scored)  # without a verdict there is nothing to agree with
        wants = labels_wanted(bound.judge)
        low, high = found.interval if known else (None, None)
        return cls(
            calibration=replay.calibration,
            model=bound.model,
            temperature=bound.temperature,
            phase=phase_of(found, least, estimate, labels=wants),
            why=why_not(found, least, estimate, wants),
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
            jury=jury_figures(replay),
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
