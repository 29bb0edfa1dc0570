"""What of a run is made here, where other machines make the rest of it, and what of that side by
side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gateval.domain.manifests.gate_config import ProviderRate
from gateval.domain.plan.plan import Plan
from gateval.domain.results.progress import next_trials
from gateval.domain.trials.trial import Side, Trial, TrialKey
from gateval.gateway.ledger import SpendingLimits


class Stage(NamedTuple):
    """What is measured here: what it `asks` for after the trials that are over, and the `limits`
    and `rates` that its calls keep to. `ends` says that it is the last one, so that judges are
    asked again; `calibrates`, that it measures them for the others.
    """

    asks: Callable[[Iterable[Trial]], tuple[TrialKey, ...]]
    limits: SpendingLimits
    rates: Mapping[str, ProviderRate]
    ends: bool = False
    calibrates: bool = False


def whole_run(plan: Plan) -> Stage:
    """Return the one stage of a run that nobody else makes a piece of."""
    limits = SpendingLimits.under(plan.policy, plan.allowance)
    return Stage(partial(next_trials, plan), limits, plan.policy.rates, ends=True)


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
