"""One piece of a run, where other machines make the rest of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from gateval.domain.manifests.gate_config import ProviderRate
from gateval.domain.plan.plan import Plan
from gateval.domain.results.progress import next_trials
from gateval.domain.trials.trial import Trial, TrialKey
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
