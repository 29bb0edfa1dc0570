"""The gate config of a revision, and what a change does to it.

That it is absent is read from the tree, which is there or an error: a tree or a file that git
cannot give never means the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gateval.domain.manifests.agent import refusals
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, GateConfig, RulesSource
from gateval.domain.manifests.strictness import extend
from gateval.domain.paths import show_path
from gateval.domain.planning.snapshot import GateRules, RulesEdit
from gateval.domain.problems import InvalidManifests, Problem, SourceLocation
from gateval.domain.tree import Revision, Tree
from gateval.errors import GatevalError
from gateval.formats.native.gate_config import gate_config_places, read_gate_config
from gateval.gateway.upstream.endpoints import PREFIXES
from gateval.pipeline.manifests import ManifestCache, about_file
from gateval.ports.repository import Repository, SharedRules


def read_asked(shared: SharedRules, source: RulesSource) -> tuple[GateConfig | None, str]:
    """Read what a gate config extends, or say why it cannot be read: that is never the defaults."""
    config: GateConfig | None = None
    why = ""
    try:
        data = shared.read(source)
        if len(data) > ManifestCache.FILE_LIMIT:
            why = f"It has more than {ManifestCache.FILE_LIMIT:,} bytes."
        else:
            config, problems = read_gate_config(source.path, data)
            why = str(problems[0]) if config is None else ""
    except GatevalError as error:
        why = error.sentence
    if config is not None and config.extends:
        why = "It extends another one itself; one step is allowed."
    if config is None or why:
        return None, f"The rules that the gate config extends, {source}, cannot be read. {why}"
    return config, ""


def apply(
    asked: GateConfig | None, own: GateConfig, file: str
) -> tuple[GateConfig, tuple[str, ...]]:
    """Return the rules of `own`, the gate config in `file`, and of what it extends, if anything;
    and the sentences on what of our own does not count.
    """
    if asked is None or own.source is None:
        return own, ()
    extended = extend(asked, own)
    return extended.config, tuple(
        f"{file}: {one.key} asks less than {own.source}, which it extends: there it is "
        f"{_show(one.asked)}, here {_show(one.own)}. The stricter of both applies."
        for one in extended.ignored
    )


def _show(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


class RulesRead(NamedTuple):
    """What applies, as a whole gate config too; `asked` is the one that it extends, if any."""

    rules: GateRules
    config: GateConfig
    asked: GateConfig | None = None


def read_rules(
    repository: Repository,
    base_tip: Revision,
    shared: SharedRules,
    path: str = GATE_CONFIG_PATH,
) -> RulesRead:
    """Read the gate config from the base tip; its absence means the defaults.

    What it extends is read from `shared`; `Rules.unread` says why that was not possible. Raises
    `InvalidManifests` when the file is there but wrong: a broken rule is not a missing one.
    """
    tree = repository.tree(base_tip)
    if path not in tree:
        source = f"defaults ({show_path(path)} is absent at {base_tip.short})"
        return RulesRead(
            GateRules(GateConfig().policy, source, base_tip, absent=True), GateConfig()
        )
    own, problems, _ = _config(repository, tree, path)
    if own is None:
        raise InvalidManifests(problems, hint="The gate config of the base applies; mend it there.")
    source = f"{show_path(path)} at {base_tip.short}"
    if own.source is None:
        return RulesRead(GateRules(own.policy, source, base_tip), own)
    source = f"{source}, which extends {own.source}"
    asked, unread = read_asked(shared, own.source)
    refused = _refused_variables(asked, own.source.path)
    if asked is None or refused:
        unread = unread or f"{own.source}: {refused[0]}"
        bypass = own.policy.bypass.replace(roles=())  # nobody's label counts
        policy = own.policy.replace(bypass=bypass)
        return RulesRead(GateRules(policy, source, base_tip, unread=unread), own)
    config, ignored = apply(asked, own, show_path(path))
    return RulesRead(GateRules(config.policy, source, base_tip, ignored=ignored), config, asked)


def read_own(repository: Repository, revision: Revision) -> GateConfig:
    """Read a revision's gate config without what it extends. Raises `InvalidManifests`."""
    own, problems, _ = _config(repository, repository.tree(revision), GATE_CONFIG_PATH)
    if own is None:
        raise InvalidManifests(problems)
    return own


def read_edit(
    repository: Repository, head: Tree, base: Tree, tip: RulesRead, path: str
) -> RulesEdit | None:
    """Return what a change does to the gate config, None if nothing; `tip` is what decides.

    What a change extends anew is not read: the token reads what the target branch names. Raises
    `InvalidManifests` when the change makes the file invalid.
    """
    if head.get(path) == base.get(path):
        return None
    after, problems, places = _config(repository, head, path)
    if after is None:
        raise InvalidManifests(
            problems, hint="Merged like this, the gate would refuse every later change."
        )
    before, _, _ = _config(repository, base, path)
    whole = [one and apply(tip.asked, one, path)[0] for one in (before, after)]
    first = path in head and path not in base
    return RulesEdit(whole[0], whole[1] or after, tip.config, show_path(path), places, first)


def _config(
    repository: Repository, tree: Tree, path: str
) -> tuple[GateConfig | None, tuple[Problem, ...], Mapping[str, SourceLocation]]:
    """The gate config of a tree, the defaults if it has none; None with what is wrong with it."""
    entry = tree.get(path)
    if entry is None:
        return GateConfig(), (), {}
    data = None
    if entry.is_file:
        data = repository.blobs([entry.oid], limit=ManifestCache.FILE_LIMIT)[entry.oid]
    if data is None:
        message = f"The gate config must be a file of at most {ManifestCache.FILE_LIMIT:,} bytes."
        return None, (about_file(path, message),), {}
    config, problems = read_gate_config(path, data)
    problems = (*problems, *_refused_variables(config, path))
    if problems:
        return None, problems, {}
    return config, (), gate_config_places(path, data)


def _refused_variables(config: GateConfig | None, path: str) -> tuple[Problem, ...]:
    names = config.policy.candidate_env if config else ()
    place = SourceLocation(file=show_path(path))
    return tuple(
        Problem(place=place, path="policy.candidateEnv", message=sentence)
        for sentence in refusals(names, PREFIXES)
    )
