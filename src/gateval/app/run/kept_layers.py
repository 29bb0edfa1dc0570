"""Opens the folder of kept layers for a run, where that is safe; else says why it is not.

A pull request must not hand over layers: its files may not lie in the folder, and its processes may
not reach it. Layers go to a cache that others read, forks too: none is kept that saw a secret.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from gateval.adapters.folders import made_folder, real_path, replace_file
from gateval.adapters.git import GitRepository
from gateval.adapters.layers.store import LayerStore
from gateval.candidates.isolation.walls import Walls
from gateval.domain.manifests.own_checks import own_checks, set_up_inputs
from gateval.domain.plan.plan import Plan
from gateval.domain.text.secrets import secret_values
from gateval.settings import LAYERS, Settings


@contextlib.contextmanager
def kept_layers(
    plan: Plan,
    repository: GitRepository,
    settings: Settings,
    walls: Walls | None,
    scratch: Path,
    tell: Callable[[str], None],
) -> Iterator[LayerStore | None]:
    """Give the layers that are kept for later runs; None where nobody asked, or it is not safe."""
    wanted = settings.layers
    asked = wanted.folder and _has_layers(plan)
    why_not = _refusal(plan, settings, walls) if asked else ""
    if not asked or why_not:
        if why_not:
            tell(why_not)
        yield None
        return
    try:
        folder = _opened(repository, settings)
        store = LayerStore(
            folder,
            scratch.parent,
            workspace=repository.root.resolve(),
            writes=wanted.writes,
            most=wanted.mib * 2**20,
            tell=tell,
        )
    except OSError as error:
        tell(f"{LAYERS} cannot be used, so set-ups are made anew: {error.strerror}.")
        yield None
        return
    with store:
        yield store


def _has_layers(plan: Plan) -> bool:
    """Whether an Agent of the plan, or a check, has a set-up that can be kept."""
    fixtures = (fixture for planned in plan.evals for fixture in planned.fixtures)
    return any(agent.runtime.layer for agent in plan.agents) or any(
        set_up_inputs(spec) for fixture in fixtures for spec in own_checks(fixture)
    )


def layers_folder(repository: GitRepository, settings: Settings) -> Path | None:
    """Return the folder if there is one outside of the repository, where nothing else hides it."""
    if not settings.layers.folder:
        return None
    folder = (repository.root / settings.layers.folder).resolve()
    return None if folder.is_relative_to(repository.root.resolve()) else folder


def _refusal(plan: Plan, settings: Settings, walls: Walls | None) -> str:
    passed = plan.policy.candidate_env
    if any(secret_values(settings.environ, passed)):
        return (
            "Set-ups are not kept for later runs: policy.candidateEnv hands them secrets, and "
            "whoever may read the cache could find these in it."
        )
    if walls is None or not (walls.users or walls.landlock):
        return (
            f"Set-ups are not kept for later runs: nothing here keeps agents out of {LAYERS}, as "
            "users of their own or Landlock would."
        )
    return ""


def _opened(repository: GitRepository, settings: Settings) -> Path:
    """Return the folder, made if need be. Raises `OSError` for a link, or files of git in it."""
    root = repository.root.resolve()
    folder = real_path(root, root / settings.layers.folder)
    if folder.is_relative_to(root) and repository.tracks(folder.relative_to(root)):
        raise OSError(1, "git tracks files in it, which a pull request may have brought")
    if settings.layers.writes:
        with made_folder(root, folder) as opened:
            if folder.is_relative_to(root):
                replace_file(opened, ".gitignore", b"*\n")
    return folder
