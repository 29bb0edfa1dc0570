"""Reads the scripted models that the manifests of one revision name."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.fixtures.embedding import embedding_scripts
from gateval.domain.manifests.scripted import (
    SCRIPTED_FOLDER,
    SCRIPTED_PROVIDER,
    ScriptedModel,
    script_name,
)
from gateval.domain.planning.change import scripted_names
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Place, Problem
from gateval.domain.repository.tree import Tree
from gateval.formats.native.scripted import read_scripted
from gateval.pipeline.manifests.cache import ManifestCache

SCRIPT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def read_scripts(
    catalogue: Catalogue, tree: Tree, cache: ManifestCache
) -> tuple[Mapping[str, ScriptedModel], list[Problem]]:
    """Return the scripted models that manifests name, and what is wrong with them."""
    scripts: dict[str, ScriptedModel] = {}
    problems: list[Problem] = []
    for name, (place, where) in _wanted(catalogue).items():
        path = f"{SCRIPTED_FOLDER}/{name}.yaml"
        entry = tree.get(path) if SCRIPT_NAME.fullmatch(name) else None
        if entry is None or not entry.is_file:
            message = f'The scripted model "{name}" needs the file {show_path(path)}.'
            problems.append(Problem(place=place, path=where, message=message))
            continue
        script, wrong = read_scripted(path, cache.data(entry) or b"")
        problems += wrong
        if script is not None:
            scripts[name] = script
    return scripts, problems


def _wanted(catalogue: Catalogue) -> Mapping[str, tuple[Place, str]]:
    """Where Agents, Evals, calibrations and assertions first name each scripted model."""
    wanted: dict[str, tuple[Place, str]] = {}
    for agent in catalogue.agents:
        for name in scripted_names(agent):
            is_first = f"{SCRIPTED_PROVIDER}/{name}" in agent.spec.models
            where = "spec.models" if is_first else "spec.uses"
            wanted.setdefault(name, (agent.places.get(where, agent.place), where))
    for evaluation in catalogue.evals:
        judge = script_name(evaluation.judge.model)
        if judge is not None:
            place = evaluation.places.get("spec.judge", evaluation.place)
            wanted.setdefault(judge, (place, "spec.judge.model"))
    for calibration in catalogue.calibrations:
        for model in calibration.judge_models:
            if (judge := script_name(model)) is not None:
                wanted.setdefault(judge, (calibration.place, "spec.judgeModels"))
    for name, spec in embedding_scripts(catalogue.fixtures).items():
        wanted.setdefault(name, (spec.place, ""))
    return wanted
