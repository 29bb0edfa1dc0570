"""What is simulated: pools of fixtures with made-up rates, and what a change does to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from gateval.domain.statistics.power import Rates, RunSettings, simulate

MIXED = (0.95, 0.9, 0.8, 0.6)
BROKEN_RATE = 0.1
SLIPPED_BY = 0.15


@dataclass(frozen=True)
class Pool:
    """`fixtures` whose base rates are drawn from `rates` anew for each run."""

    fixtures: int
    rates: tuple[float, ...]

    def draw(self, random: Random) -> list[float]:
        """Return the base rates of one run."""
        return random.choices(self.rates, k=self.fixtures)


@dataclass(frozen=True)
class Change:
    """The first `broken` fixtures fall from `was`, or their own rate, to .1; all fall by `slip`.

    Since base's stored trials were made, both sides have fallen by `drift`: the model did.
    """

    broken: int = 0
    was: float | None = None
    slip: float = 0.0
    drift: float = field(default=0.0, repr=False)

    def rates(self, pool: Pool, random: Random) -> Rates:
        """Return both sides' rates of one run."""
        base = pool.draw(random)
        if self.was is not None:
            base[: self.broken] = [self.was] * self.broken
        head = [max(0.0, rate - self.slip) for rate in base]
        head[: self.broken] = [BROKEN_RATE] * self.broken
        if not self.drift:
            return Rates(base=tuple(base), head=tuple(head))
        base, head, before = _less(base, self.drift), _less(head, self.drift), base
        return Rates(base=tuple(base), head=tuple(head), stored=tuple(before))


def _less(rates: list[float], by: float) -> list[float]:
    return [max(0.0, rate - by) for rate in rates]


UNCHANGED = Change()
SLIPPED = Change(slip=SLIPPED_BY)


@dataclass(frozen=True)
class Measured:
    """Shares of the runs, and mean trials a run."""

    blocked: float
    found: float
    """A run in which a broken fixture regressed."""

    slipped: float
    base_trials: float
    head_trials: float


@dataclass(frozen=True)
class Single:
    """What one run of some rule gave."""

    blocked: bool
    found: bool
    slipped: bool
    base_trials: int
    head_trials: int


def ours(rule: RunSettings) -> Callable[[Random, Rates, int], Single]:
    """Our rule as a function of random numbers, one Eval's rates and the count of broken ones."""

    def once(random: Random, rates: Rates, broken: int) -> Single:
        run = simulate(random, [rates], rule)
        return Single(
            blocked=run.blocked,
            found=any(fixture < broken for _, fixture in run.regressed),
            slipped=bool(run.slipped),
            base_trials=run.base_trials,
            head_trials=run.head_trials,
        )

    return once


def measure(
    once: Callable[[Random, Rates, int], Single], pool: Pool, change: Change, runs: int
) -> Measured:
    """Simulate `runs` runs; the same arguments give the same figures on every machine."""
    random = Random(f"{pool} {change}")
    return _means([once(random, change.rates(pool, random), change.broken) for _ in range(runs)])


def _means(runs: list[Single]) -> Measured:
    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(runs)

    return Measured(
        blocked=mean(run.blocked for run in runs),
        found=mean(run.found for run in runs),
        slipped=mean(run.slipped for run in runs),
        base_trials=mean(run.base_trials for run in runs),
        head_trials=mean(run.head_trials for run in runs),
    )
