"""The gate config that ours extends: read, or why it could not be."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.manifests.policy.extending import Ignored, extend
from gateval.domain.manifests.policy.gate_config import GateConfig, Policy
from gateval.domain.manifests.policy.rules_source import RulesSource
from gateval.errors import GatevalError
from gateval.formats.native.gate_config import read_gate_config
from gateval.pipeline.manifests.cache import ManifestCache
from gateval.ports.sources import SharedRules


class ExtendedConfig(NamedTuple):
    """The config that is extended; None with the sentence why it cannot be read."""

    config: GateConfig | None
    unread: str = ""


class Applied(NamedTuple):
    """The rules that apply, and the sentences on what of our own does not count."""

    config: GateConfig
    warnings: tuple[str, ...] = ()


def read_asked(shared: SharedRules, source: RulesSource) -> ExtendedConfig:
    """Read what a gate config extends. Nothing that goes wrong there means the defaults."""
    try:
        data = shared.read(source)
    except GatevalError as error:
        return ExtendedConfig(None, _unread(source, error.sentence))
    if len(data) > ManifestCache.FILE_LIMIT:
        return ExtendedConfig(
            None, _unread(source, f"It has more than {ManifestCache.FILE_LIMIT:,} bytes.")
        )
    config, problems = read_gate_config(source.path, data)
    if config is None:
        return ExtendedConfig(None, _unread(source, str(problems[0])))
    if config.extends:
        return ExtendedConfig(
            None, _unread(source, "It extends another one itself; one step is allowed.")
        )
    return ExtendedConfig(config)


def apply(asked: GateConfig | None, own: GateConfig, file: str) -> Applied:
    """Return the rules of `own`, the gate config in `file`, and of what it extends, if anything."""
    if asked is None or own.source is None:
        return Applied(own)
    extended = extend(asked, own)
    return Applied(
        extended.config,
        tuple(_ignored(one, file, own.source) for one in extended.ignored),
    )


def locked(own: GateConfig) -> Policy:
    """Return a policy for a run whose rules cannot be read: nobody's label counts."""
    bypass = own.policy.bypass.model_copy(update={"roles": ()})
    return own.policy.model_copy(update={"bypass": bypass})


def _unread(source: RulesSource, why: str) -> str:
    return f"The rules that the gate config extends, {source}, cannot be read. {why}"


def _ignored(one: Ignored, file: str, source: RulesSource) -> str:
    return (
        f"{file}: {one.key} asks less than {source}, which it extends: there it is "
        f"{_show(one.asked)}, here {_show(one.own)}. The stricter of both applies."
    )


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)
