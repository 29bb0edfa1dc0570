"""The bars, each with its threshold, and what is measured for it.

The references are exact figures of the same designs, or simulations made by somebody else from the
same description before this code was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.figures import Figure
from benchmarks.scale import Scale
from benchmarks.statistics import axes, deciding, preferences, scores, signaltest
from benchmarks.statistics.lines import Line
from benchmarks.statistics.scenarios import (
    BROKEN_RATE,
    MIXED,
    SLIPPED,
    UNCHANGED,
    Change,
    Measured,
    Pool,
    measure,
    ours,
)
from gateval.domain.statistics.design import FIXTURES, design, fixture_share, looks
from gateval.domain.statistics.power import RunSettings
from gateval.domain.statistics.walk import power

MORE_RUNS = 5
"""A rate near its bar is simulated so many times as often."""

FIFTH = 0.2

_DRIFTS = ((0.05, 0.07, 0.052), (0.10, 0.10, 0.078))
"""A drift since the stored trials were made, the most false blocks, and those of the reference."""


def measured(scale: Scale) -> list[Figure]:
    """Return the lines as figures for `python -m benchmarks`."""
    return [line.figure() for line in lines(scale.simulated_runs)]


def lines(runs: int) -> Iterator[Line]:
    """Yield all lines, from `runs` simulated runs for each figure."""
    yield from _defaults(runs)
    yield from _three(runs, 0, 0.0157, {0.95: (0.91, 0.931), 0.9: (0.86, 0.878)}, (0.88, 0.898))
    stored = {0.95: (0.97, 0.985), 0.9: (0.94, 0.961), 0.8: (0.80, 0.855)}
    yield from _three(runs, 10, 0.0135, stored, (0.92, 0.945))
    yield from _beside_signaltest(runs)
    yield from _new_fixtures()
    yield from scores.lines(runs)
    yield from axes.lines(runs)
    yield from preferences.lines(runs)
    yield from _deciding()


def _defaults(runs: int) -> Iterator[Line]:
    pool, rule, setting = Pool(20, (0.95,)), ours(RunSettings()), "defaults, 20 at .95"
    calm = measure(rule, pool, UNCHANGED, runs * MORE_RUNS)
    spent = (calm.base_trials + calm.head_trials) / (2 * pool.fixtures)
    yield Line(setting, "unchanged: blocked", calm.blocked, reference=0.0, bar=0.01)
    yield Line(setting, "unchanged: trials / one a side", spent, "×", reference=1.14, bar=1.2)
    for broken, reference, bar in ((1, 0.827, 0.80), (3, 0.995, 0.98)):
        found = measure(rule, pool, Change(broken), runs).found
        what = f"{broken} broken: found"
        yield Line(setting, what, found, reference=reference, bar=bar, least=True)


def _three(
    runs: int,
    stored: int,
    blocked: float,
    hard: dict[float, tuple[float, float]],
    slipped: tuple[float, float],
) -> Iterator[Line]:
    rule = ours(RunSettings(reps_per_fixture=3, stored=stored))
    pool, setting = Pool(40, MIXED), f"3 repetitions, 40 mixed, {stored} stored"
    calm = measure(rule, pool, UNCHANGED, runs * MORE_RUNS)
    yield Line(setting, "unchanged: blocked", calm.blocked, reference=blocked, bar=0.02)
    yield Line(setting, "unchanged: head's trials", calm.head_trials / pool.fixtures, "a fixture")
    yield Line(setting, "unchanged: base's trials", calm.base_trials / pool.fixtures, "a fixture")
    for was, (bar, reference) in hard.items():
        found = measure(rule, pool, Change(1, was), runs).found
        what = f"1 broken, from {was}: found"
        yield Line(setting, what, found, reference=reference, bar=bar, least=True)
    down = measure(rule, pool, SLIPPED, runs).blocked
    what = "all down 15 points: blocked"
    yield Line(setting, what, down, reference=slipped[1], bar=slipped[0], least=True)
    for drift, bar, reference in _DRIFTS if stored else ():
        blocked = measure(rule, pool, Change(drift=drift), runs * MORE_RUNS).blocked
        what = f"base and head {100 * drift:.0f} points below the store: blocked"
        yield Line(setting, what, blocked, reference=reference, bar=bar)


def _beside_signaltest(runs: int) -> Iterator[Line]:
    rule = ours(RunSettings())
    changes = (UNCHANGED, Change(1), Change(3), SLIPPED)
    for fixtures, rate in ((20, 0.95), (20, 0.9), (20, 0.8), (40, 0.95), (40, 0.8)):
        setting, pool = f"beside signaltest, {fixtures} at {rate}", Pool(fixtures, (rate,))
        for change in changes:
            mine = measure(rule, pool, change, runs)
            peer = measure(signaltest.once, pool, change, runs)
            yield from _pair(setting, change, mine, peer, runs)


def _pair(
    setting: str, change: Change, mine: Measured, peer: Measured, runs: int
) -> Iterator[Line]:
    what = f"{change.broken} broken" if change.broken else "unchanged"
    what = "all down 15 points" if change.slip else what
    line = Line(setting, f"{what}: blocked", mine.blocked, peer=peer.blocked)
    if change != UNCHANGED:
        chances = (mine.blocked, peer.blocked)
        error = 2 * (sum(chance * (1 - chance) for chance in chances) / runs) ** 0.5
        line = replace(line, bar=max(0.0, peer.blocked - error), least=True)
    yield line
    spent = (mine.base_trials + mine.head_trials) / (peer.base_trials + peer.head_trials)
    bar = FIFTH if change in (UNCHANGED, Change(1)) else None
    yield Line(setting, f"{what}: trials / signaltest's", spent, "×", bar=bar)


def _new_fixtures() -> Iterator[Line]:
    """What a pull request adds has no share: the reference is what would be found if it had."""

    def found(sharing: int) -> float:
        return power(design(looks(1), fixture_share(FIXTURES, sharing)), 0.95, BROKEN_RATE)

    setting = "20 at .95, 500 new ones pass"
    yield Line(setting, "1 broken: found (or, had they a share)", found(20), reference=found(520))


def _deciding() -> Iterator[Line]:
    for fixtures, bar in ((200, 0.5), (10_000, 5.0)):
        for reps in (1, 3):
            setting = f"{fixtures} fixtures, {reps} a side"
            yield Line(setting, "deciding", deciding.seconds(fixtures, reps), "s", bar=bar)
