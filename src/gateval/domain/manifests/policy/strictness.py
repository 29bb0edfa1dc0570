"""Which value of each key of the gate config is the stricter one: the one table for all who ask.

The bar asks whether a change makes a rule laxer, `extends` lets a repository be stricter only, and
the reference tells people. Were these three lists, they would disagree one day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.policy.directions import (
    Direction,
    fewer,
    fewer_records,
    fixed,
    free,
    more,
    number,
    order,
    patterns,
    ports,
)
from gateval.domain.manifests.policy.gate_config import GateConfig
from gateval.domain.manifests.policy.words import (
    AgreementPolicy,
    BarPolicy,
    DeadBaselinePolicy,
    InconclusivePolicy,
    LoopbackPolicy,
    RegressionPolicy,
    RiseEffect,
    ThresholdPolicy,
    UncalibratedPolicy,
    UnsetThresholdPolicy,
)

KeyPath = tuple[str, ...]
"""The keys that lead to a value: `("policy", "bypass", "roles")`."""

_YES_FIRST, _NO_FIRST = (True, False), (False, True)

STRICTNESS: Mapping[str, Direction] = {
    "extends": fixed(),
    "manifests": patterns(empty_is_all=True),
    "policy.regressions": order(*RegressionPolicy),
    "policy.threshold": order(*ThresholdPolicy),
    "policy.thresholdFloor": number(lower=False),
    "policy.unsetThreshold": order(UnsetThresholdPolicy.STRICT, UnsetThresholdPolicy.REGRESSIONS),
    "policy.deadBaseline": order(*DeadBaselinePolicy),
    "policy.evalWeights": fixed(),
    "policy.inconclusive": order(*InconclusivePolicy),
    "policy.judge.agreement": order(AgreementPolicy.LOWER_BOUND, AgreementPolicy.POINT),
    "policy.judge.uncalibrated": order(*UncalibratedPolicy),
    "policy.bar": order(BarPolicy.STRICTEST, BarPolicy.BASE, BarPolicy.HEAD),
    "policy.candidateEnv": fewer(),
    "policy.sources": fewer(),
    "policy.egress": ports(),
    "policy.loopbackUpstreams": order(*LoopbackPolicy),
    "policy.bindPorts": fewer_records(),
    "policy.gateway.allow": fewer(),
    "policy.gateway.maxTokens": number(lower=True),
    "policy.gateway.callsPerRun": number(lower=True),
    "policy.gateway.tokensPerRun": number(lower=True),
    "policy.mustBelong": patterns(empty_is_all=False),
    "policy.drafts": free(),
    "policy.cost.maxRatio": number(lower=True, absent=True),
    "policy.cost.over": order(*RiseEffect),
    "policy.latency.maxRatio": number(lower=True, absent=True),
    "policy.latency.over": order(*RiseEffect),
    "policy.budget.repetitions": number(lower=False, absent=True),
    "policy.budget.tokens": number(lower=False, absent=True),
    "policy.budget.usd": number(lower=False, absent=True),
    "policy.budget.minutes": number(lower=False, absent=True),
    "policy.prices": free(),
    "policy.baseline.trials": free(),
    "policy.baseline.maxAgeDays": number(lower=True),
    "policy.baseline.workflows": fewer(),
    "policy.baseline.repetitions": free(),
    "policy.quarantine": fewer_records(),
    "policy.recipients": fewer(),
    "policy.sealedBits": number(lower=True),
    "policy.bypass.roles": fewer(),
    "policy.bypass.requireReason": order(*_YES_FIRST),
    "policy.bypass.allowAuthor": order(*_NO_FIRST),
    "policy.audit.sinks": more(),
    "policy.audit.required": more(),
    "policy.audit.verdicts": order(*_YES_FIRST),
}
"""By the key as it is written. What lies below `_NAMED` are names, and goes by its entry."""

_NAMED = ("evalWeights", "prices")


def direction_of(path: KeyPath) -> Direction:
    """Return which way the value at this path is stricter. Raises KeyError for an unknown one."""
    return STRICTNESS[written(path[:2] if path[1:2] and path[1] in _NAMED else path)]


def written(path: KeyPath) -> str:
    """Return a path as people write it: `policy.bypass.roles`."""
    return ".".join(path)


def leaves(config: GateConfig, *, only_set: bool = False) -> dict[KeyPath, JsonValue]:
    """Return every value of a gate config; with `only_set`, those that its file names."""
    dumped = config.model_dump(mode="json", by_alias=True, exclude_unset=only_set)
    return dict(_flat(dumped, ()))


def config_of(values: Mapping[KeyPath, JsonValue]) -> GateConfig:
    """Return the gate config of these values: `leaves`, the other way round."""
    nested: JsonObject = {}
    for path, value in values.items():
        inner = nested
        for key in path[:-1]:
            deeper = inner.setdefault(key, {})
            assert isinstance(deeper, dict)  # noqa: S101 - paths come from a config
            inner = deeper
        inner[path[-1]] = value
    return GateConfig.model_validate(nested)


def _flat(value: JsonValue, path: KeyPath) -> Iterator[tuple[KeyPath, JsonValue]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _flat(entry, (*path, key))
    else:
        yield path, value
