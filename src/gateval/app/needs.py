"""What the files of a repository ask of who sets the gate up: `init` and `doctor` both say it."""

from __future__ import annotations

from collections.abc import Iterable

from gateval.adapters.git.repository import GitRepository
from gateval.domain.manifests.catalogue import Catalogue, embedding_models
from gateval.domain.manifests.evaluation import is_sealed
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import Problem
from gateval.domain.setup.gate_job import GateJob
from gateval.formats.github.workflow import gate_jobs, is_workflow, unreadable
from gateval.gateway.upstream.endpoints import PROVIDERS

WORKFLOW_LIMIT = 1_000_000
"""Bytes of a workflow that is looked at."""


def sealed_files(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the sealed manifests of a revision, with or without a key to them."""
    catalogue = snapshot.catalogue
    paths = [one.path for one in catalogue.evals] + [one.path for one in catalogue.fixtures]
    return tuple(sorted({*snapshot.locked, *filter(is_sealed, paths)}))


def read_workflows(
    repository: GitRepository, snapshot: Snapshot
) -> tuple[tuple[GateJob, ...], tuple[Problem, ...]]:
    """Return the jobs of this revision's workflows that use the gate, and why others are unread."""
    flows = {path: entry.oid for path, entry in snapshot.tree.items() if is_workflow(path)}
    blobs = repository.blobs(flows.values(), limit=WORKFLOW_LIMIT)
    contents = {path: blobs[oid] or b"" for path, oid in flows.items()}
    jobs = (job for path, data in contents.items() for job in gate_jobs(path, data, contents.get))
    unread = (unreadable(path, data) for path, data in contents.items())
    return tuple(jobs), tuple(problem for problem in unread if problem)


def models_of(catalogue: Catalogue) -> set[str]:
    """Return the models that Agents, judges and assertions of these manifests ask."""
    models = {model for agent in catalogue.agents for model in agent.asked_models}
    models |= {model for one in catalogue.evals for model in one.judge.asked}
    return models | embedding_models(catalogue.fixtures).keys()


def key_variables(models: Iterable[str]) -> list[str]:
    """Return the variables of the keys that these models need."""
    providers = (PROVIDERS.get(model.partition("/")[0]) for model in models)
    return sorted({one.key_variable for one in providers if one and not one.key_optional})


def keyless_providers(models: Iterable[str]) -> list[str]:
    """Return the providers of these models whose servers may ask for no key."""
    providers = (PROVIDERS.get(model.partition("/")[0]) for model in models)
    return sorted({one.name for one in providers if one and one.key_optional})


def address_variables(models: Iterable[str]) -> list[str]:
    """Return the variables of the addresses that only the person who runs a server can know."""
    providers = (PROVIDERS.get(model.partition("/")[0]) for model in models)
    return sorted({one.url_variable for one in providers if one and not one.default_url})
