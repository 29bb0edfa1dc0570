"""A trial of head beside one of base, step by step, as far as they mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from gateval.domain.trials.trace import Step
from gateval.domain.trials.trial import Trial
from gateval.render.report.facts import FixtureFacts

_MOST = 1_000_000
"""Comparisons of steps that an alignment may take; longer traces stand side by side by number."""


class Pair(NamedTuple):
    """A trial of head, and one of base to hold beside it; None where there is none."""

    head: Trial | None
    base: Trial | None

    @property
    def rows(self) -> list[tuple[Step | None, Step | None]]:
        """The steps of both, those that mean the same in one row: see `aligned`."""
        return aligned(_steps(self.head), _steps(self.base))


def chosen(fact: FixtureFacts, repetition: int | None) -> Pair:
    """Return the trials to show: this repetition, else head's worst and base's beside it."""
    head = _repetition(fact.head, repetition) if repetition else fact.worst
    number = repetition or (head.key.repetition if head else 1)
    base = _repetition(fact.base, number) or (None if repetition else next(iter(fact.base), None))
    return Pair(head, base)


def aligned(head: Sequence[Step], base: Sequence[Step]) -> list[tuple[Step | None, Step | None]]:
    """Return both in rows, by a longest common subsequence of what the steps mean: their kind, and
    the tool that is called or answers. What stands between two such steps is put side by side.
    """
    ours, theirs = list(map(_meaning, head)), list(map(_meaning, base))
    if len(ours) * len(theirs) > _MOST:
        same = [(at, at) for at in range(min(len(ours), len(theirs)))]
    else:
        same = _common(ours, theirs)
    rows: list[tuple[Step | None, Step | None]] = []
    row, column = 0, 0
    for left, right in [*same, (len(head), len(base))]:
        rows += zip_longest(head[row:left], base[column:right])
        if left < len(head) and right < len(base):
            rows.append((head[left], base[right]))
        row, column = left + 1, right + 1
    return rows


def _common(ours: Sequence[object], theirs: Sequence[object]) -> list[tuple[int, int]]:
    """Return the positions of a longest common subsequence, the earliest pairs first."""
    lengths = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for at in range(len(ours) - 1, -1, -1):
        for to in range(len(theirs) - 1, -1, -1):
            lengths[at][to] = (
                lengths[at + 1][to + 1] + 1
                if ours[at] == theirs[to]
                else max(lengths[at + 1][to], lengths[at][to + 1])
            )
    found, at, to = [], 0, 0
    while at < len(ours) and to < len(theirs):
        if ours[at] == theirs[to]:
            found.append((at, to))
            at, to = at + 1, to + 1
        elif lengths[at + 1][to] >= lengths[at][to + 1]:
            at += 1
        else:
            to += 1
    return found


def _meaning(step: Step) -> object:
    return step.kind, step.tool


def _steps(trial: Trial | None) -> Sequence[Step]:
    return trial.trace.steps if trial and trial.trace else ()


def _repetition(trials: Sequence[Trial], number: int) -> Trial | None:
    return next((trial for trial in trials if trial.key.repetition == number), None)
