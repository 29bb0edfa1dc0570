"""In which order the sides of a look run: processes of head and base never live at the same time.

A candidate could look for the other side's server and spoil it, and so its yardstick. Agents
without processes interleave.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.plan.plan import Plan
from gateval.domain.trials.trial import Side, TrialKey


class Phase(NamedTuple):
    """Trials that run side by side, and the side whose processes live meanwhile, if any does."""

    keys: tuple[TrialKey, ...]
    side: Side | None = None


def phases(plan: Plan, keys: Sequence[TrialKey], first: Side) -> tuple[Phase, ...]:
    """Return the phases of one look; `first` is the side whose processes come first."""
    agents = {one.name: one.agent for one in plan.evals}
    processes = {(agent.name, agent.side) for agent in plan.agents if agent.runtime.starts_process}

    def is_process(key: TrialKey) -> bool:
        return (agents[key.eval], key.side) in processes

    sides = {key.side for key in keys if is_process(key)}
    if len(sides) < len(Side):
        return (Phase(tuple(keys), next(iter(sides), None)),)
    early = tuple(key for key in keys if not is_process(key) or key.side is first)
    late = tuple(key for key in keys if is_process(key) and key.side is not first)
    return (Phase(early, first), Phase(late, late[0].side))
