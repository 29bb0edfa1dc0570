"""Laxer rules and other edits of a change in the gate config.

Nothing of it counts before it is merged: the base tip's rules decide. But who merges it should
have seen it, and a laxer rule is a lower bar for everything that comes after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from gateval.domain.manifests.gate_config import (
    BarPolicy,
    GateConfig,
    InconclusivePolicy,
    RegressionPolicy,
    ThresholdPolicy,
    UnsetThresholdPolicy,
)
from gateval.domain.plan.planned_eval import Lowered
from gateval.domain.repository.place import Place


@dataclass(frozen=True)
class RulesEdit:
    """The gate config before and after a change, and on the base tip, which decides.

    `before` is the merge-base's; None if that cannot be read. `places` are those of head's keys.
    An absent file means the defaults.
    """

    before: GateConfig | None
    after: GateConfig
    tip: GateConfig
    file: str
    places: Mapping[str, Place] = field(default_factory=dict)


def laxer_rules(edit: RulesEdit) -> tuple[Lowered, ...]:
    """Return every rule that the change itself makes laxer than the base tip has it."""
    found = tuple(_laxer(edit.tip, edit))
    if edit.before is None:
        return found
    own = {one.what for one in _laxer(edit.before, edit)}
    return tuple(one for one in found if one.what in own)


def other_edits(edit: RulesEdit) -> tuple[str, ...]:
    """Return the other edits in words, such as `policy.drafts evaluate -> wait`."""
    before = edit.before or edit.tip
    laxer = {one.what for one in laxer_rules(edit)}
    old, new = dict(_leaves(before)), dict(_leaves(edit.after))
    return tuple(
        f"{key} {_show(old.get(key))} \N{RIGHTWARDS ARROW} {_show(new.get(key))}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key) and key not in laxer
    )


_ORDERS: Mapping[str, Sequence[str]] = {
    "policy.regressions": tuple(RegressionPolicy),
    "policy.inconclusive": tuple(InconclusivePolicy),
    "policy.threshold": tuple(ThresholdPolicy),
    "policy.unsetThreshold": (UnsetThresholdPolicy.STRICT, UnsetThresholdPolicy.REGRESSIONS),
    "policy.bar": (BarPolicy.STRICTEST, BarPolicy.BASE, BarPolicy.HEAD),
    "policy.bypass.requireReason": ("True", "False"),
    "policy.bypass.allowAuthor": ("False", "True"),
    "policy.audit.verdicts": ("True", "False"),
}
"""Rules with one value, strictest first."""

_MORE_IS_LAXER = ("policy.candidateEnv", "policy.bypass.roles", "policy.gateway.allow")
_HIGHER_IS_LAXER = (
    "policy.gateway.maxTokens",
    "policy.gateway.callsPerRun",
    "policy.gateway.tokensPerRun",
)
_LESS_IS_LAXER = ("policy.audit.sinks", "policy.audit.required")


_LOWER_IS_LAXER = ("policy.thresholdFloor",)


def _laxer(before: GateConfig, edit: RulesEdit) -> Iterator[Lowered]:
    old, new = dict(_leaves(before)), dict(_leaves(edit.after))
    for key in sorted(old.keys() | new.keys()):
        if _is_laxer(key, old.get(key), new.get(key)):
            yield _lowered(key, old, new, edit)
    kept = edit.after.policy.must_belong
    if any(not _within(pattern, kept) for pattern in before.policy.must_belong):
        yield _lowered("policy.mustBelong", old, new, edit)
    if _narrower(before.manifests, edit.after.manifests):
        yield _lowered("manifests", old, new, edit)


def _is_laxer(key: str, old: JsonValue, new: JsonValue) -> bool:
    if key in _ORDERS:
        return _ORDERS[key].index(str(new)) > _ORDERS[key].index(str(old))
    if key in _HIGHER_IS_LAXER:
        return _number(new) > _number(old)
    if key in _LOWER_IS_LAXER:
        return _number(new) < _number(old)
    more, less = _words(new) - _words(old), _words(old) - _words(new)
    return bool(more if key in _MORE_IS_LAXER else less if key in _LESS_IS_LAXER else False)


def _narrower(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether files may no longer be looked at; no pattern at all means every file."""
    if not after:
        return False
    return not before or any(not _within(pattern, after) for pattern in before)


def _within(pattern: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns surely takes in all that `pattern` does."""
    return any(
        other in {pattern, "**"}
        or (other.endswith("/**") and pattern.startswith(other.removesuffix("**")))
        for other in patterns
    )


def _leaves(config: GateConfig) -> Iterator[tuple[str, JsonValue]]:
    yield from _flat(config.model_dump(mode="json", by_alias=True), "")


def _flat(value: JsonValue, where: str) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _flat(entry, f"{where}.{key}" if where else key)
    else:
        yield where, value


def _words(value: JsonValue) -> set[str]:
    return set(map(str, value)) if isinstance(value, list) else set()


def _number(value: JsonValue) -> float:
    return value if isinstance(value, int | float) else 0


def _lowered(
    key: str, old: Mapping[str, JsonValue], new: Mapping[str, JsonValue], edit: RulesEdit
) -> Lowered:
    return Lowered(
        place=_place(key, edit), what=key, before=_show(old[key], key), after=_show(new[key], key)
    )


def _place(key: str, edit: RulesEdit) -> Place:
    """Where the key stands on head, or what is around it; a rule that is gone stands nowhere."""
    while key:
        if key in edit.places:
            return edit.places[key]
        key = key.rpartition(".")[0]
    return Place(file=edit.file)


def _show(value: JsonValue, key: str = "") -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or ("every YAML file" if key == "manifests" else "none")
    return str(value)
