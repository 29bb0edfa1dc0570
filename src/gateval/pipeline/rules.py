"""The gate config of a revision, and what a change does to it.

That it is absent is read from the tree, which is there or an error: a tree or a file that git
cannot give never means the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH, GateConfig
from gateval.domain.manifests.variable_names import refusals
from gateval.domain.plan.plan import Revision
from gateval.domain.planning.bar.rules import RulesEdit
from gateval.domain.planning.planner import Rules
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem
from gateval.domain.repository.tree import Tree
from gateval.errors import InvalidManifests
from gateval.formats.native.gate_config import gate_config_places, read_gate_config
from gateval.gateway.upstream.providers import PREFIXES
from gateval.pipeline.manifest_cache import ManifestCache
from gateval.ports.repository import Repository


def read_rules(
    repository: Repository, base_tip: Revision, path: str = GATE_CONFIG_PATH
) -> tuple[Rules, GateConfig]:
    """Read the gate config from the base tip; its absence means the defaults.

    Raises `InvalidManifests` when it is there but wrong: a broken rule is not a missing one.
    """
    tree = repository.tree(base_tip)
    if path not in tree:
        source = f"defaults ({show_path(path)} is absent at {base_tip.short})"
        return Rules(GateConfig().policy, source, base_tip), GateConfig()
    config, problems, _ = _config(repository, tree, path)
    if config is None:
        raise InvalidManifests(problems, hint="The gate config of the base applies; mend it there.")
    return Rules(config.policy, f"{show_path(path)} at {base_tip.short}", base_tip), config


def read_edit(
    repository: Repository, head: Tree, base: Tree, tip: GateConfig, path: str
) -> RulesEdit | None:
    """Return what a change does to the gate config, None if nothing; `tip` is what decides.

    Raises `InvalidManifests` when it makes it invalid.
    """
    if head.get(path) == base.get(path):
        return None
    after, problems, places = _config(repository, head, path)
    if after is None:
        raise InvalidManifests(
            problems, hint="Merged like this, the gate would refuse every later change."
        )
    before, _, _ = _config(repository, base, path)
    return RulesEdit(before, after, tip, show_path(path), places)


def _config(
    repository: Repository, tree: Tree, path: str
) -> tuple[GateConfig | None, tuple[Problem, ...], Mapping[str, Place]]:
    """The gate config of a tree, the defaults if it has none; None with what is wrong with it."""
    entry = tree.get(path)
    if entry is None:
        return GateConfig(), (), {}
    data = None
    if entry.is_file:
        data = repository.blobs([entry.oid], limit=ManifestCache.FILE_LIMIT)[entry.oid]
    if data is None:
        message = f"The gate config must be a file of at most {ManifestCache.FILE_LIMIT:,} bytes."
        return None, (Problem(place=Place(file=show_path(path)), message=message),), {}
    config, problems = read_gate_config(path, data)
    problems = (*problems, *_refused_variables(config, path))
    if problems:
        return None, problems, {}
    return config, (), gate_config_places(path, data)


def _refused_variables(config: GateConfig | None, path: str) -> tuple[Problem, ...]:
    names = config.policy.candidate_env if config else ()
    place = Place(file=show_path(path))
    return tuple(
        Problem(place=place, path="policy.candidateEnv", message=sentence)
        for sentence in refusals(names, PREFIXES)
    )
