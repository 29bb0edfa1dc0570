"""Which value of each key of the gate config is the stricter one: the one table for all who ask.

The bar asks whether a change makes a rule laxer, `extends` lets a repository be stricter only, and
the reference tells people. Were these three lists, they would disagree one day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.gate_config import (
    AgreementPolicy,
    BarPolicy,
    DeadBaselinePolicy,
    GateConfig,
    InconclusivePolicy,
    LoopbackPolicy,
    RegressionPolicy,
    RiseEffect,
    ThresholdPolicy,
    UncalibratedPolicy,
    UnsetThresholdPolicy,
)
from gateval.domain.strict_json import list_of


class Direction(NamedTuple):
    """Which of two values of a rule is the stricter one. `words` says it for people.

    `laxer(before, after)`: whether `after` asks less than `before` in any respect.
    `strictest(asked, own)`: what asks as much as both; `own` where neither asks more.
    """

    words: str
    laxer: Callable[[JsonValue, JsonValue], bool]
    strictest: Callable[[JsonValue, JsonValue], JsonValue]


def order(*values: JsonValue) -> Direction:
    """Named values, strictest first."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        return values.index(after) > values.index(before)

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return min(asked, own, key=values.index)

    return Direction(", then ".join(f"`{_show(one)}`" for one in values), laxer, strictest)


def number(*, lower: bool, absent: bool = False) -> Direction:
    """A number that is stricter the lower, or the higher it is; none at all is above any, where it
    may be `absent`.
    """

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        more = _number(after) - _number(before)
        return more > 0 if lower else more < 0

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return asked if laxer(asked, own) else own

    words = "the lower number" if lower else "the higher number"
    order_of_none = ", then none" if lower else ", none first"
    return Direction(words + (order_of_none if absent else ""), laxer, strictest)


def fewer(read: Callable[[JsonValue], Sequence[JsonValue]] | None = None) -> Direction:
    """A list that is stricter with fewer entries, as `read` gives them: as text, unless it says."""
    listed = read or _entries

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        return any(one not in listed(before) for one in listed(after))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return [one for one in listed(own) if one in listed(asked)]

    return Direction("fewer entries", laxer, strictest)


def more(read: Callable[[JsonValue], Sequence[JsonValue]] | None = None) -> Direction:
    """A list that is stricter with more entries, as `read` gives them: as text, unless it says."""
    listed = read or _entries

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        return any(one not in listed(after) for one in listed(before))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return [*listed(own), *(one for one in listed(asked) if one not in listed(own))]

    return Direction("more entries", laxer, strictest)


def patterns(*, empty_is_all: bool) -> Direction:
    """Patterns of files that are stricter the more files they take in.

    With `empty_is_all`, no pattern at all means every file; otherwise none.
    """

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        if empty_is_all and not (before and after):
            return bool(after)
        return any(not _within(one, _entries(after)) for one in _entries(before))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return [] if empty_is_all and not (asked and own) else _united(asked, own)

    return Direction("more files" + (" (all, if empty)" if empty_is_all else ""), laxer, strictest)


def ports() -> Direction:
    """`policy.egress`: nothing but the gateway, some ports beside it, or everything (`open`)."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        if "open" in (before, after):
            return before != after == "open"
        return not set(_entries(after)) <= set(_entries(before))

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        if "open" in (asked, own):
            return own if asked == "open" else asked
        both: list[JsonValue] = [int(one) for one in _entries(own) if one in _entries(asked)]
        return both or "gateway"

    return Direction("`gateway`, then fewer ports, then `open`", laxer, strictest)


def fixed() -> Direction:
    """A value from which nobody can tell what it asks: each edit may ask less."""
    return Direction(
        "unknown: each edit has to be accepted",
        lambda before, after: before != after,
        lambda _, own: own,
    )


def kept_first() -> Direction:
    """A list of which the first entry that fits counts: what stood there has to stay in front."""

    def laxer(before: JsonValue, after: JsonValue) -> bool:
        known = _said(before)
        return _said(after)[: len(known)] != known

    def strictest(asked: JsonValue, own: JsonValue) -> JsonValue:
        return [*_said(asked), *(one for one in _said(own) if one not in _said(asked))]

    return Direction("more entries, behind those that are there", laxer, strictest)


def free() -> Direction:
    """Values of which none asks more than the other."""
    return Direction("neither", lambda *_: False, lambda _, own: own)


def _within(pattern: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns surely takes in all that `pattern` does."""
    return any(
        other in {pattern, "**"}
        or (other.endswith("/**") and pattern.startswith(other.removesuffix("**")))
        for other in patterns
    )


def _united(asked: JsonValue, own: JsonValue) -> JsonValue:
    return list(dict.fromkeys((*_entries(own), *_entries(asked))))


def _entries(value: JsonValue) -> Sequence[str]:
    """The entries of a list as text; a word stands for none."""
    return list(map(str, value)) if isinstance(value, list) else ()


def _list(value: JsonValue) -> Sequence[JsonValue]:
    """The records of a list, each without the keys that are not set."""
    return [
        {key: part for key, part in one.items() if part is not None}
        if isinstance(one, dict)
        else one
        for one in list_of(value)
    ]


def _said(value: JsonValue) -> list[JsonValue]:
    """The records of a list, each without the keys that say nothing."""
    return [
        {key: part for key, part in one.items() if part not in (None, "", [])}
        if isinstance(one, dict)
        else one
        for one in list_of(value)
    ]


def _number(value: JsonValue) -> float:
    if value is None:
        return inf
    return value if isinstance(value, int | float) else 0


def _show(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


KeyPath = tuple[str, ...]
"""The keys that lead to a value: `("policy", "bypass", "roles")`."""

_YES_FIRST, _NO_FIRST = (True, False), (False, True)

STRICTNESS: Mapping[str, Direction] = {
    "extends": fixed(),
    "manifests": patterns(empty_is_all=True),
    "agents": kept_first(),
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
    "policy.bindPorts": fewer(_list),
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
    "policy.budget.perPullRequest.usd": number(lower=False, absent=True),
    "policy.budget.perDay.usd": number(lower=False, absent=True),
    "policy.prices": free(),
    "policy.rates": free(),
    "policy.maxOutage": free(),
    "policy.baseline.trials": free(),
    "policy.baseline.maxAgeDays": number(lower=True),
    "policy.baseline.workflows": fewer(),
    "policy.baseline.repetitions": free(),
    "policy.quarantine": fewer(_list),
    "policy.recipients": fewer(),
    "policy.sealedBits": number(lower=True),
    "policy.bypass.roles": fewer(),
    "policy.bypass.requireReason": order(*_YES_FIRST),
    "policy.bypass.allowAuthor": order(*_NO_FIRST),
    "policy.audit.sinks": more(),
    "policy.audit.required": more(),
    "policy.audit.verdicts": order(*_YES_FIRST),
    "policy.notify": more(_list),
}
"""By the key as it is written. What lies below `_NAMED` are names, and goes by its entry."""

_NAMED = ("evalWeights", "prices", "rates")


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


class Ignored(NamedTuple):
    """A value that asks less than the config which is extended, so that it does not count."""

    key: str
    own: JsonValue
    asked: JsonValue


class Extended(NamedTuple):
    """What applies, and what does not because it would ask less."""

    config: GateConfig
    ignored: tuple[Ignored, ...]


def extend(asked: GateConfig, own: GateConfig) -> Extended:
    """Return the rules of a repository whose gate config `own` extends `asked`.

    A key that `own` does not name is as `asked` has it. One that it names is as strict as both are
    together (`STRICTNESS`); where neither value is the stricter one, its own stands. An audit sink
    that one of the two requires is written to, whatever the other's list is.
    """
    values, ignored = {**leaves(asked), ("extends",): own.extends}, []
    for path, value in leaves(own, only_set=True).items():
        if path == ("extends",):
            continue
        direction, before = direction_of(path), values.get(path)
        if path not in values or not direction.laxer(before, value):
            values[path] = value
            continue
        values[path] = direction.strictest(before, value)
        ignored.append(Ignored(written(path), value, before))
    sinks, required = ("policy", "audit", "sinks"), ("policy", "audit", "required")
    values[sinks] = direction_of(sinks).strictest(values[required], values[sinks])
    return Extended(config_of(values), tuple(ignored))
