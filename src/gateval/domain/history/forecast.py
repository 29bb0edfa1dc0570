"""What a plan is likely to take, by what its Evals took before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from math import fsum
from typing import NamedTuple, TypeAlias

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.history.run_record import RunRecord, RunSpent, newest_of
from gateval.domain.plan.plan import Plan
from gateval.domain.results.outlook import expected_trials

RUNS_COMPARED = 10
"""Runs of an Eval, the newest ones, between whose least and most the range lies."""

RUNS_READ = 300


class Range(NamedTuple):
    """The least and the most of something."""

    least: float
    most: float


class Ranges(Value):
    """What a plan would take by the cheapest and the dearest of `runs` earlier runs of its Evals;
    None is unknown.
    """

    runs: int
    calls: Range
    tokens: Range | None = None
    usd: Range | None = None
    minutes: Range


class Forecast(Value):
    """Model calls, tokens, US dollars and minutes of a plan whose agents did not change for worse.

    None is unknown; `least` are then the tokens and dollars of those Evals that tell them. `ranges`
    are known where an Eval was measured more than once. `unknown` are the Evals of which no run
    tells anything, so they are not in the sums; `runs` are those that were gone by.
    """

    calls: float = 0
    tokens: float | None = None
    usd: float | None = None
    minutes: float | None = None
    least: tuple[float, float] = Field((0.0, 0.0), exclude=True)
    ranges: Ranges | None = None
    runs: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class _Known(NamedTuple):
    """The trials that an Eval will take, what its run says of it, and a trial's seconds there."""

    trials: float
    spent: RunSpent
    seconds: float


def forecast(plan: Plan, runs: Iterable[RunRecord]) -> Forecast:
    """Return what a plan will take; `runs` come the newest first, and each Eval has its latest.

    The minutes are those of whole runs, in proportion to their trials: set-up and judging are in
    them, and trials that run side by side, too.
    """
    wanted = dict.fromkeys(planned.own_name for planned in plan.evals)
    read = tuple(islice(runs, RUNS_READ))
    found = newest_of(read, wanted, lambda _, one: one.spent)
    known = [
        _Known(expected_trials(planned), one.spent, _seconds(run))
        for planned in plan.evals
        if planned.own_name in found
        for run, one in [found[planned.own_name]]
        if one.spent
    ]
    return Forecast(
        calls=fsum(one.trials * one.spent.calls / one.spent.trials for one in known),
        tokens=_sum(known, [one.spent.tokens for one in known]),
        usd=_sum(known, [one.spent.usd for one in known]),
        least=(
            fsum(_parts(known, [one.spent.tokens for one in known])),
            fsum(_parts(known, [one.spent.usd for one in known])),
        ),
        minutes=fsum(one.trials * one.seconds for one in known) / 60 if known else None,
        ranges=_ranges(plan, read),
        runs=tuple(dict.fromkeys(run.id for run, _ in found.values())),
        unknown=tuple(name for name in wanted if name not in found),
    )


def _ranges(plan: Plan, runs: Iterable[RunRecord]) -> Ranges | None:
    """Return between what the runs say that the Evals lie of which they know anything."""
    taken: dict[str, list[tuple[RunSpent, float]]] = {}
    for run in runs:
        for one in run.evals:
            known = taken.setdefault(one.eval, [])
            if one.spent and len(known) < RUNS_COMPARED:
                known.append((one.spent, _seconds(run)))
    evals = [one for one in plan.evals if taken.get(one.own_name)]
    most = max((len(taken[one.own_name]) for one in evals), default=0)
    if most < 2:
        return None

    def between(amount: Callable[[RunSpent, float], float | None]) -> Range | None:
        least, largest = 0.0, 0.0
        for planned in evals:
            rates = [amount(*one) for one in taken[planned.own_name]]
            known = [one for one in rates if one is not None]
            if not known:
                return None
            trials = expected_trials(planned)
            least, largest = least + trials * min(known), largest + trials * max(known)
        return Range(least, largest)

    nothing = Range(0, 0)
    return Ranges(
        runs=most,
        calls=between(lambda spent, _: spent.calls / spent.trials) or nothing,
        tokens=between(lambda spent, _: _each(spent.tokens, spent.trials)),
        usd=between(lambda spent, _: _each(spent.usd, spent.trials)),
        minutes=between(lambda _, seconds: seconds / 60) or nothing,
    )


def _each(amount: float | None, trials: int) -> float | None:
    return None if amount is None else amount / trials


def _seconds(run: RunRecord) -> float:
    trials = sum(one.spent.trials for one in run.evals if one.spent)
    return run.seconds / trials if trials else 0.0


def kept_seconds(plan: Plan, runs: Iterable[RunRecord]) -> dict[str, float]:
    """Return how long a trial of each Eval took in its latest run that tells, by the Eval's own
    name; `runs` come the newest first.
    """
    wanted = dict.fromkeys(planned.own_name for planned in plan.evals)
    found = newest_of(runs, wanted, lambda run, one: one.spent if run.seconds else None)
    return {name: _seconds(run) for name, (run, _) in found.items()}


_Amounts: TypeAlias = list[int | None] | list[float | None]


def _parts(known: list[_Known], amounts: _Amounts) -> list[float]:
    """Return what each Eval will take of something, of those of which it is known."""
    return [
        one.trials * amount / one.spent.trials
        for one, amount in zip(known, amounts, strict=True)
        if amount is not None
    ]


def _sum(known: list[_Known], amounts: _Amounts) -> float | None:
    numbers = _parts(known, amounts)
    return fsum(numbers) if numbers and len(numbers) == len(known) else None
