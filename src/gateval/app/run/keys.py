"""Which models of a plan can be asked with the keys that are here."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.manifests.fixtures.embedding import embedding_models
from gateval.domain.manifests.policy.gate_config import Policy
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.trials.trial import Side
from gateval.errors import MissingKey, UsageError
from gateval.gateway.upstream.endpoints import has_no_address, missing_keys
from gateval.render.report.words.counts import listing
from gateval.settings import Settings


def refuse_missing_keys(plan: Plan, settings: Settings) -> None:
    """Raise `MissingKey`, naming every model of the plan that cannot be asked.

    A provider without an address that head alone names is refused in its trials, where base has
    others: the change is what breaks the Agent.
    """
    models = {model for planned in plan.evals for model in _models(plan, planned)}
    new = {model for planned in plan.evals for model in _new_models(plan, planned)}
    nowhere = {model for model in new if has_no_address(model, settings.upstreams)}
    missing = missing_keys(sorted(models - nowhere), settings.upstreams)
    if missing:
        raise MissingKey(
            " ".join(missing),
            hint="Keys belong in the environment of gateval; candidates never see them.",
        )


def refuse_unpriced(plan: Plan) -> None:
    """Raise `UsageError` where the policy limits dollars and nobody knows what a model costs."""
    refuse_unpriced_models(
        (model for planned in plan.evals for model in _models(plan, planned)), plan.policy
    )


def refuse_unpriced_models(models: Iterable[str], policy: Policy) -> None:
    """Raise `UsageError` where the policy limits dollars and nobody knows what a model costs.

    The list of prices is loaded only then.
    """
    if policy.budget.usd is None:
        return
    from gateval.adapters.list_prices import ListPrices
    from gateval.gateway.pricing import Pricing

    pricing = Pricing(ListPrices(), policy.prices)
    unknown = sorted(model for model in set(models) if not pricing.knows(model))
    if unknown:
        raise UsageError(
            "The policy limits what a run may cost (policy.budget.usd), and that cannot be kept: "
            f"Nobody knows a price of {listing(unknown)}.",
            hint=f"Write {'it' if len(unknown) == 1 else 'each'} under policy.prices of the gate "
            f"config, in US dollars for a million tokens (`{unknown[0]}: {{input: 0.5, output: "
            "1.5}`), or limit tokens instead (policy.gateway.tokensPerRun).",
        )


def part_with_keys(plan: Plan, settings: Settings) -> Plan | None:
    """Return the plan without the Evals that need a key which is not here; None if none is left."""
    kept = tuple(
        planned
        for planned in plan.evals
        if not missing_keys(_models(plan, planned), settings.upstreams)
    )
    if not kept:
        return None
    names = {planned.agent for planned in kept}
    agents = tuple(agent for agent in plan.agents if agent.name in names)
    return plan.model_copy(update={"evals": kept, "agents": agents})


def asks_real_models(plan: Plan) -> bool:
    """Whether the plan names a model that a provider answers for, not rules of the repository."""
    prefix = f"{SCRIPTED_PROVIDER}/"
    models = (model for planned in plan.evals for model in _models(plan, planned))
    return any(not model.startswith(prefix) for model in models)


def _new_models(plan: Plan, planned: PlannedEval) -> set[str]:
    """The models that head's Agent names and base's does not, and nothing else of the Eval asks."""
    sides = {
        side: {*agent.models, *agent.uses}
        for side in Side
        if (agent := plan.agent(planned.agent, side)) is not None
    }
    if set(sides) != set(Side):
        return set()
    judge = {planned.judge.model} if planned.judge.model else set()
    return sides[Side.HEAD] - sides[Side.BASE] - judge - embedding_models(planned.fixtures).keys()


def _models(plan: Plan, planned: PlannedEval) -> set[str]:
    """The models of an Eval: its Agent's on both sides, its judge's, and measuring ones."""
    models = {
        model
        for agent in plan.agents
        if agent.name == planned.agent
        for model in (*agent.models, *agent.uses)
    }
    judged = any(a.needs_judge for fixture in planned.fixtures for a in fixture.assertions)
    if judged and planned.judge.model:
        models.add(planned.judge.model)
    return models | embedding_models(planned.fixtures).keys()
