"""What is counted, beside the bar that it has to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from benchmarks.known_rates.runs import Ran
from benchmarks.known_rates.world import fixture_name

STEADY = 0.95
BROKEN = 0.1
MIXED = (0.95, 0.9, 0.8, 0.6)
STANDARD_ERRORS = 2.0
"""A rate counted in so many runs may miss its bar by this much, as chance alone would have it."""


@dataclass(frozen=True)
class Scenario:
    """An agent before and after a change, and the bars: each None where nothing is promised.

    `blocked` is the largest share of runs that may block, `found` the least share in which one of
    the `broken` fixtures is called regressed, `spent` the most trials of both sides, as a multiple
    of the planned repetitions.
    """

    name: str
    base: tuple[float, ...]
    broken: int = 0
    reps: int = 1
    blocked: float | None = None
    found: float | None = None
    spent: float | None = None

    @property
    def head(self) -> tuple[float, ...]:
        """The pass rates after the change: the first fixtures break."""
        return (BROKEN,) * self.broken + self.base[self.broken :]


SCENARIOS = (
    Scenario("unchanged", (STEADY,) * 20, blocked=0.01, spent=1.2),
    Scenario("one-broken", (STEADY,) * 20, broken=1, found=0.80),
    Scenario("three-broken", (STEADY,) * 20, broken=3, found=0.98),
    Scenario("three-repetitions", (MIXED * 10), reps=3, blocked=0.02),
    Scenario("three-repetitions-broken", (MIXED * 10), broken=1, reps=3, found=0.91),
)


@dataclass(frozen=True)
class Counted:
    """One figure of a scenario and its bar; `runs` is None for what is no rate."""

    scenario: str
    what: str
    value: float
    bar: float | None = None
    least: bool = False
    runs: int | None = None

    @property
    def verdict(self) -> str:
        """Whether it keeps its bar, or misses it by no more than so few runs may do."""
        if self.bar is None:
            return ""
        short = self.bar - self.value if self.least else self.value - self.bar
        if short <= 0:
            return "OK"
        error = sqrt(self.bar * (1 - self.bar) / self.runs) if self.runs else 0.0
        return "within chance" if short <= STANDARD_ERRORS * error else "MISSED"

    def row(self) -> tuple[str, ...]:
        """The figure as cells of a table."""
        percent = self.runs is not None
        shown = [
            "" if number is None else f"{100 * number:.1f} %" if percent else f"{number:.4g}"
            for number in (self.value, self.bar)
        ]
        sign = "" if self.bar is None else "≥ " if self.least else "≤ "
        return (self.scenario, self.what, shown[0], sign + shown[1], self.verdict)


def counted(scenario: Scenario, ran: Sequence[Ran]) -> list[Counted]:
    """Return the figures of a scenario's runs."""
    name, runs = scenario.name, len(ran)
    broken = {fixture_name(number) for number in range(scenario.broken)}
    blocked = sum(one.blocked for one in ran) / runs
    found = [
        Counted(name, "runs", runs),
        Counted(name, "blocked", blocked, bar=scenario.blocked, runs=runs),
    ]
    if broken:
        hit = sum(bool(one.regressed & broken) for one in ran) / runs
        wrong = sum(bool(one.regressed - broken) for one in ran) / runs
        found += [
            Counted(name, "found", hit, bar=scenario.found, least=True, runs=runs),
            Counted(name, "another fixture called regressed", wrong, bar=0.05, runs=runs),
        ]
    planned = len(scenario.base) * scenario.reps
    base = sum(one.base_trials for one in ran) / runs / planned
    head = sum(one.head_trials for one in ran) / runs / planned
    return [
        *found,
        Counted(name, "trials of base / planned", base),
        Counted(name, "trials of head / planned", head),
        Counted(name, "trials of both / planned", (base + head) / 2, bar=scenario.spent),
    ]
