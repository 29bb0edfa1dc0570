"""Trials by what they belong to."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.trials.trial import Side, Trial

Grouped = dict[tuple[str, str, Side], tuple[Trial, ...]]
"""Trials by Eval, fixture and side, each in order of repetition."""


def group_trials(trials: Iterable[Trial]) -> Grouped:
    """Return the trials by (Eval, fixture, side)."""
    groups: dict[tuple[str, str, Side], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.key.eval, trial.key.fixture, trial.key.side), []).append(trial)
    return {
        name: tuple(sorted(group, key=lambda t: t.key.repetition)) for name, group in groups.items()
    }
