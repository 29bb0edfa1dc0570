"""The rules for scores with axes, simulated: what is blocked, what is found, and by which test.

Each unit is a task with three criteria, each an axis of its own that weighs 1, 3 and 1. Runs go
through the very functions that decide real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from benchmarks.statistics.lines import Line
from gateval.domain.statistics.broad import Broad
from gateval.domain.statistics.design import (
    BROAD,
    FIXTURES,
    Look,
    LookResult,
    broad_looks,
    fixture_share,
    joint_shares,
    looks,
)
from gateval.domain.statistics.graded import (
    Axis,
    GradedRule,
    axis_looks,
    axis_step,
    graded_broad_step,
    graded_rule,
    graded_walk,
)

WEIGHTS = (1.0, 3.0, 1.0)
BUDGET = 0.05
FEWER = 4
_KEPT_FOR_SILENCE = 0.9

Means = tuple[float, float, float]
Draw = Callable[[Random, float], float]


class Outcome(NamedTuple):
    """One simulated run: whether anything blocks, whether the first axis does, and the trials."""

    blocked: bool
    axis: bool
    trials: int


class _Task:
    def __init__(self, random: Random, draw: Draw, base: Means, head: Means) -> None:
        self._random, self._draw, self._means = random, draw, (base, head)
        self.sides: tuple[list[list[float]], list[list[float]]] = ([], [])

    def up_to(self, look: Look) -> None:
        for side, means, many in zip(self.sides, self._means, (look.base, look.head), strict=True):
            while len(side) < many:
                side.append([self._draw(self._random, mean) for mean in means])

    def scores(self, axis: int | None) -> tuple[list[float], list[float]]:
        """Return the scores of both sides on an axis, or in the whole."""
        base, head = ([_whole(one) if axis is None else one[axis] for one in s] for s in self.sides)
        return base, head


def _whole(scores: Sequence[float]) -> float:
    return sum(w * s for w, s in zip(WEIGHTS, scores, strict=True)) / sum(WEIGHTS)


def simulate(random: Random, tasks: int, draw: Draw, base: Means, head: Means) -> Outcome:
    """Return one run of a benchmark, one repetition a side, whose axes have these means."""
    drawn = [_Task(random, draw, base, head) for _ in range(tasks)]
    rule = graded_rule(looks(1), _KEPT_FOR_SILENCE * fixture_share(FIXTURES, tasks))
    found = sum(_regresses(task, rule) for task in drawn) > 0
    shares = joint_shares(BROAD, 0, len(WEIGHTS))
    schedule = broad_looks(1)

    worse = _looked(
        drawn,
        schedule,
        lambda at: graded_broad_step(
            schedule, at, [one.scores(None) for one in drawn], shares.whole, found=found
        ),
    )
    whole = found or worse
    axis = Axis(axis_looks(1, tasks), shares.axis)
    fallen = [_axis_falls(drawn, axis, number, found=whole) for number in range(len(WEIGHTS))]
    found, axis_found = whole or any(fallen), fallen[0]
    return Outcome(found, axis_found, sum(len(side) for task in drawn for side in task.sides))


def _axis_falls(tasks: list[_Task], axis: Axis, number: int, *, found: bool) -> bool:
    def step(at: int) -> Broad:
        return axis_step(axis, at, [one.scores(number) for one in tasks], found=found)

    return _looked(tasks, axis.looks, step)


def _regresses(task: _Task, rule: GradedRule) -> bool:
    step = LookResult.GO_ON
    while step is LookResult.GO_ON:
        now = graded_walk(rule, *task.scores(None))
        step = now.step
        task.up_to(now.look)
    return step is LookResult.REGRESSED


def _looked(tasks: list[_Task], schedule: Sequence[Look], step: Callable[[int], Broad]) -> bool:
    said = LookResult.STOP
    for index, look in enumerate(schedule):
        for task in tasks:
            task.up_to(look)
        said = step(index).step
        if said is not LookResult.GO_ON:
            break
    return said is LookResult.REGRESSED


def _passes(random: Random, mean: float) -> float:
    return float(random.random() < mean)


def _noisy(random: Random, mean: float) -> float:
    return min(1.0, max(0.0, random.gauss(mean, 0.1)))


_STEADY: Means = (0.9, 0.9, 0.9)
_CHANGES: tuple[tuple[str, Means, dict[int, float]], ...] = (
    ("first axis .9 to .4", (0.4, 0.9, 0.9), {3: 0.35, 10: 0.7, 40: 0.95}),
    ("first axis .9 to .6, second .7 to .9", (0.6, 0.9, 0.9), {40: 0.9}),
)
_BEFORE = {"first axis .9 to .6, second .7 to .9": (0.9, 0.7, 0.9)}


def lines(runs: int) -> Iterator[Line]:
    """Yield the lines, from a part of `runs` simulated runs for each figure."""
    many = max(1, runs // FEWER)
    for name, draw in (("0 or 1", _passes), ("spread .1", _noisy)):
        for tasks in (1, 3, 10, 40):
            setting = f"3 axes, {name}, {tasks} {'task' if tasks == 1 else 'tasks'}"
            calm = _measure(many, tasks, draw, _STEADY, _STEADY)
            blocked = sum(one.blocked for one in calm) / many
            yield Line(setting, "unchanged: blocked", blocked, bar=BUDGET)
            trials = sum(one.trials for one in calm) / (2 * tasks * many)
            yield Line(setting, "unchanged: trials / planned", trials, "×")
            for what, head, bars in _CHANGES:
                ran = _measure(many, tasks, draw, _BEFORE.get(what, _STEADY), head)
                found = sum(one.blocked for one in ran) / many
                yield Line(setting, f"{what}: found", found, bar=bars.get(tasks), least=True)
                own = sum(one.axis for one in ran) / many
                yield Line(setting, f"{what}: by its axis", own)


def _measure(runs: int, tasks: int, draw: Draw, base: Means, head: Means) -> list[Outcome]:
    random = Random(18)
    return [simulate(random, tasks, draw, base, head) for _ in range(runs)]
