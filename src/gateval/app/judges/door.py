"""The gateway for commands that ask judges and start no candidate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.manifests.scripted import script_name
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.trials.trial import Side
from gateval.errors import MissingKey, UsageError
from gateval.settings import Settings

if TYPE_CHECKING:
    from gateval.gateway.door import Gateway


def refuse_unanswerable(
    models: Iterable[str], snapshot: Snapshot, settings: Settings, policy: Policy
) -> None:
    """Raise `MissingKey` or `UsageError` for a model that cannot be asked under this policy."""
    from gateval.app.run.keys import refuse_unpriced_models
    from gateval.gateway.upstream.endpoints import missing_keys

    wanted = sorted(set(models))
    missing = missing_keys(wanted, settings.upstreams)
    if missing:
        raise MissingKey(" ".join(missing), hint="Keys belong in the environment of gateval.")
    for model in wanted:
        script = script_name(model)
        if script is not None and script not in snapshot.scripts:
            raise UsageError(f"No manifest on this revision names the scripted model {model}.")
    refuse_unpriced_models(wanted, policy)


def judges_gateway(snapshot: Snapshot, settings: Settings, policy: Policy) -> Gateway:
    """Return the gateway, to be entered: it holds the keys, the scripts of this revision, and the
    limits of its policy.
    """
    from gateval.adapters.list_prices import ListPrices
    from gateval.gateway.door import Gateway
    from gateval.gateway.ledger import SpendingLimits
    from gateval.gateway.upstream.retry import RetryPolicy

    return Gateway(
        settings.upstreams,
        {Side.HEAD: snapshot.scripts},
        prices=None if policy.budget.usd is None else ListPrices(),
        own_prices=policy.prices,
        limits=SpendingLimits.under(policy),
        policy=RetryPolicy(outage_seconds=settings.outage_seconds),
        ca_file=settings.ca_file,
    )
