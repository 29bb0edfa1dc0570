"""A gate config that extends another one: the stricter of both, key by key."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.manifests.policy.gate_config import GateConfig
from gateval.domain.manifests.policy.strictness import config_of, direction_of, leaves, written


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
