"""Repositories with agents in the formats of other tools, and what is read of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from gateval.adapters.git.repository import open_repository
from gateval.app.readers import registries
from gateval.domain.manifests.agent import Agent
from gateval.domain.planning.closure import closure_of, closure_paths
from gateval.domain.planning.snapshot import Snapshot
from gateval.pipeline.read import survey
from tests.helpers.repo import Repo

SAMPLES = Path(__file__).parent.parent / "data" / "definitions"
CONFIG = ".github/gateval.yml"

_EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {{name: {name}.eval}}
spec: {{targetAgent: {name}, fixtures: [{name}.one]}}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: {name}.one}}
spec:
  input: {{type: prompt, payload: {{prompt: Hello}}}}
  assertions: [{{type: contains, value: hello}}]
"""


def sample(path: Path, name: str, *targets: str, config: str = "") -> Repo:
    """Return a repository of this sample, all committed, with an Eval for each of these Agents."""
    repo = Repo(path)
    shutil.copytree(SAMPLES / name, repo.path, dirs_exist_ok=True)
    for target in targets:
        repo.write(f"evals/{target}.yaml", _EVAL.format(name=target))
    if config:
        repo.write(CONFIG, config)
    repo.commit()
    return repo


def read(repo: Repo, revision: str = "HEAD") -> Snapshot:
    """Return what is read of a revision."""
    repository = open_repository(repo.path, environ=repo.env)
    return survey(repository, registries(), repository.resolve(revision))


def found(snapshot: Snapshot) -> dict[str, Agent]:
    """Return the Agents of other tools' files by their names."""
    return {agent.name: agent for agent in snapshot.catalogue.found}


def closure(snapshot: Snapshot, name: str) -> set[str]:
    """Return the tracked files that such an Agent depends on."""
    return {*closure_paths(closure_of(found(snapshot)[name], snapshot), snapshot)}


def refusals(snapshot: Snapshot) -> dict[str, str]:
    """Return why Agents cannot be started, by their names."""
    return {one.name: one.problem.message for one in snapshot.catalogue.unusable}
