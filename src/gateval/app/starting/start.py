"""What `init` does: look at the repository, write what is missing, say what to do next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from gateval import __version__
from gateval.adapters.git import GitRepository, open_repository
from gateval.adapters.new_files import write_new
from gateval.app.doctor.examine import address_variables, key_variables, models_of, read_workflows
from gateval.app.doctor.github import missing_labels
from gateval.app.registries import MEND, registries, valid_snapshot
from gateval.app.starting.next_steps import next_steps
from gateval.app.starting.programs import Choose, one_of, programs_of
from gateval.domain.base import MODEL_NAME_PATTERN
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.policy.gate_config import GATE_CONFIG_PATH
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.setup.gate_job import GateJob
from gateval.domain.setup.programs.found import FoundProgram, said_of
from gateval.domain.setup.starter import SCRIPTED_MODEL, Sketch, StarterFile, sketch
from gateval.errors import EXIT_PASS, InvalidManifests, UsageError
from gateval.gateway.upstream.providers import PROVIDERS
from gateval.pipeline.read import survey
from gateval.render.files.starter import (
    WORKFLOW_PATH,
    agent_files,
    eval_file,
    gate_files,
)
from gateval.safe.sanitize import plain_line

FIRST_MODELS = {"anthropic": "anthropic/claude-haiku-4-5", "openai": "openai/gpt-5-mini"}
"""What a new Agent asks if the provider's key is set: small, quick and cheap."""


def start_repository(
    environ: Mapping[str, str], *, model: str | None, wanted: str | None, choose: Choose
) -> int:
    """Write what is missing and print each file and the next steps.

    A person names the program that is `wanted`; `choose` is asked where several may be the agent.
    Raises `InvalidManifests` when there are manifests that cannot be read, and `UsageError` for a
    model or a program that cannot be one.
    """
    repository = open_repository(Path.cwd())
    snapshot = valid_snapshot(repository, repository.worktree(), hint=MEND)
    looked = model is None and (wanted is not None or not snapshot.catalogue.agents)
    found = programs_of(repository, snapshot, wanted) if looked else ()
    program = one_of(found, choose) if found else None
    chosen = sketch(snapshot.catalogue, snapshot.tree, _model(model, environ), program)
    gates, _ = read_workflows(repository, snapshot)
    files = _files(chosen, snapshot, gates)
    _say_what_was_found(snapshot, chosen, found)
    kept = {job.path: "the workflow" for job in gates}
    for file in files:
        if write_new(repository.root, file.path, file.text):
            print(f"  wrote  {plain_line(file.path, 200)}  ({file.about})")
        else:
            kept[file.path] = file.about
    for path, about in kept.items():
        print(f"  kept   {plain_line(path, 200)}  ({about}; it was here, and stays as it is)")
    written = _confirm(repository, chosen)
    models = _models(chosen, snapshot.catalogue)
    steps = next_steps(
        chosen,
        snapshot.catalogue,
        key_variables(models),
        address_variables(models),
        born=repository.has_commit(),
        labels=missing_labels(environ, repository.facts().origin),
        layers=any(one.spec.runtime and one.spec.runtime.layer for one in written.agents),
    )
    print(steps, end="")
    return EXIT_PASS


def _confirm(repository: GitRepository, chosen: Sketch | None) -> Catalogue:
    """Read everything again: what was written has to be valid, and has to be looked at."""
    snapshot = survey(repository, registries(), repository.worktree())
    if chosen is not None and snapshot.catalogue.agent(chosen.name) is None:
        place = chosen.folder or "the repository's root"
        raise UsageError(
            f"The new files in {place} are not looked at.",
            hint=f"Add them to `manifests` in {GATE_CONFIG_PATH}, if it has that, and see that no "
            ".gitignore leaves them out.",
        )
    if snapshot.problems:
        raise InvalidManifests(snapshot.problems, hint="This is a fault of `init`; mend the files.")
    return snapshot.catalogue


def _model(wanted: str | None, environ: Mapping[str, str]) -> str:
    if wanted is not None:
        provider = wanted.partition("/")[0]
        if not re.match(MODEL_NAME_PATTERN, wanted) or provider not in PROVIDERS:
            known = ", ".join(sorted(PROVIDERS))
            raise UsageError(
                f'"{wanted}" cannot be the model of an Agent.',
                hint=f"Write it as provider/model-id; providers are {known}.",
            )
        return wanted
    having = (name for name in FIRST_MODELS if environ.get(PROVIDERS[name].key_variable))
    return FIRST_MODELS.get(next(having, ""), SCRIPTED_MODEL)


def _files(
    chosen: Sketch | None, snapshot: Snapshot, gates: Sequence[GateJob]
) -> tuple[StarterFile, ...]:
    catalogue = snapshot.catalogue
    files: tuple[StarterFile, ...] = ()
    if chosen is not None:
        first_eval = eval_file(
            chosen,
            evals=[one.name for one in catalogue.evals],
            fixtures=[one.name for one in catalogue.fixtures],
            paths=snapshot.paths,
        )
        files = (*agent_files(chosen, __version__), first_eval)
    models = _models(chosen, catalogue)
    gate = gate_files(key_variables(models), address_variables(models), __version__)
    return (*files, *(one for one in gate if one.path != WORKFLOW_PATH or not gates))


def _models(chosen: Sketch | None, catalogue: Catalogue) -> set[str]:
    """Return the models of the repository, with those of the new Agent."""
    return {*models_of(catalogue), *(chosen.models if chosen else ())}


def _say_what_was_found(
    snapshot: Snapshot, chosen: Sketch | None, found: Sequence[FoundProgram]
) -> None:
    names = [agent.name for agent in snapshot.catalogue.agents]
    if names:
        print(f"Agents here: {', '.join(sorted(names))}.")
    if chosen and chosen.program:
        for line in said_of(chosen.program, others=found, first=not names):
            print(plain_line(line, 300))
    elif chosen is None:
        print("Each of them has an Eval, so there is no Agent to begin with.")
    elif chosen.prompt:
        print(f"No Agent here. {plain_line(chosen.prompt, 200)} looks like a system prompt, so the")
        print("first Agent uses it; change that if it is not one.")
    elif chosen.new:
        print("No Agent here, and no file that looks like a system prompt: this is a small one.")
    if chosen and chosen.new and not chosen.program:
        print("It runs no program of yours. If one is the agent:  gateval init PATH/TO/PROGRAM")
        if any(path.endswith(".ipynb") for path in snapshot.tree):
            print("A notebook is none: `jupyter nbconvert --to script NOTEBOOK` makes one of it.")
