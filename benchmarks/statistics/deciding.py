"""How long everything takes that decides a run, from nothing: cut, steps, status, broad test."""

from __future__ import annotations

from random import Random
from time import perf_counter

from gateval.domain.statistics.broad import broad_step, first
from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    broad_looks,
    design,
    fixture_share,
    looks,
)
from gateval.domain.statistics.walk import likely_rate, smallest_drop, status, walk


def seconds(fixtures: int, reps: int) -> float:
    """Decide one Eval of that many fixtures; each has all trials that could ever be asked for.

    The median of three, each with a share that was not calibrated before.
    """
    return sorted(_decide(fixtures, reps, turn) for turn in range(3))[1]


def _decide(fixtures: int, reps: int, turn: int) -> float:
    random, schedule, broad = Random(turn), looks(reps), broad_looks(reps)
    most = schedule[-1]
    trials = []
    for _ in range(fixtures):
        rate = random.choice([0.95, 0.9, 0.8, 0.6])
        base = [random.random() < rate for _ in range(most.base)]
        head = [random.random() < rate - 0.02 for _ in range(most.head)]
        trials.append((base, head))
    started = perf_counter()
    rule = design(schedule, fixture_share(FIXTURES * (1 - turn / 1000), fixtures))
    for base, head in trials:
        ended = walk(rule, base, head)
        status(rule, ended)
        smallest_drop(rule, likely_rate(ended.base))
    for index, look in enumerate(broad):
        strata = [first(look, base, head) for base, head in trials]
        broad_step(broad, index, strata, BROAD)
    return perf_counter() - started
