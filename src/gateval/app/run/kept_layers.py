"""Opens the folder of kept layers for a run, where that is safe; else says why it is not.

A pull request must not hand over layers: its files may not lie in the folder, and its processes may
not reach it. Layers go to a cache that others read, forks too: none is kept that saw a secret. All
are signed. Where a job has no key for that, only layers of the default branch's cache are read, and
none is kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from gateval.adapters.folders import (
    hand_over,
    made_folder,
    opened_folder,
    real_path,
    replace_file,
)
from gateval.adapters.git import GitRepository
from gateval.adapters.layers.signing import key_path, own_key
from gateval.adapters.layers.store import LayerStore
from gateval.adapters.layers.trust import (
    make_private,
    mend_folder,
    refuse_shared,
    refuse_way,
    trusted_owners,
)
from gateval.candidates.isolation.visible_paths import home_folders
from gateval.candidates.isolation.walls import Walls
from gateval.domain.manifests.own_checks import own_checks, set_up_inputs
from gateval.domain.plan.plan import Plan
from gateval.domain.text.secrets import secret_values
from gateval.settings import LAYERS, LAYERS_KEY, Settings

KEYLESS = (
    f"Set-ups are not kept for later runs, and none that were are used: {LAYERS_KEY} is not set, "
    "so nobody can tell who made them. Make a secret of this name with `openssl rand -hex 32`, and "
    "hand it to the gate's step."
)


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
        key = _key(repository, settings)
        writes = wanted.writes and key is not None
        folder = _opened(repository, settings, writes=writes)
        store = LayerStore(
            folder,
            scratch.parent,
            workspace=repository.root.resolve(),
            key=key,
            writes=writes,
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


def layers_folders(repository: GitRepository, settings: Settings) -> list[Path]:
    """Return the folders of layers and of their key, outside of the repository: nothing else hides
    them there. The key has to be hidden where this run keeps none, too.
    """
    places = [_key_path(settings).parent.resolve()]
    if settings.layers.folder:
        places.append((repository.root / settings.layers.folder).resolve())
    root = repository.root.resolve()
    return [one for one in places if not one.is_relative_to(root)]


def _key_path(settings: Settings) -> Path:
    return key_path(settings.environ, home_folders(settings.environ))


def _key(repository: GitRepository, settings: Settings) -> bytes | None:
    """Return what signs layers: the secret of a CI system, else the file of this user.

    None where a job may read without one. Raises `OSError` where there is none to be had.
    """
    wanted = settings.layers
    if wanted.key is not None:
        return wanted.key.get_secret_value().encode("utf-8", "surrogateescape")
    if settings.in_ci:
        return None
    root = repository.root.resolve()
    return own_key(_key_path(settings), root, make=wanted.writes)


def _refusal(plan: Plan, settings: Settings, walls: Walls | None) -> str:
    passed = plan.policy.candidate_env
    if any(secret_values(settings.environ, passed)):
        return (
            "Set-ups are not kept for later runs: policy.candidateEnv hands them secrets, and "
            "whoever may read the cache could find these in it."
        )
    if settings.in_ci and settings.layers.key is None and not settings.layers.unsigned:
        return KEYLESS
    if walls is None or not (walls.users or walls.landlock):
        return (
            f"Set-ups are not kept for later runs: nothing here keeps agents out of {LAYERS}, as "
            "users of their own or Landlock would."
        )
    return ""


def why_unused(repository: GitRepository, settings: Settings) -> str:
    """Say why runs use no layers of the folder; empty if they do. Changes and makes nothing."""
    if settings.in_ci and settings.layers.key is None:
        return KEYLESS
    try:
        folder = _place(repository, settings)
        if folder.exists():
            with opened_folder(folder) as opened:
                refuse_shared(opened, folder)
        if settings.layers.key is None:
            with contextlib.suppress(FileNotFoundError):
                own_key(_key_path(settings), repository.root.resolve(), make=False)
    except OSError as error:
        return f"{LAYERS} is not used: {error.strerror}."
    return ""


def _place(repository: GitRepository, settings: Settings) -> Path:
    """Return where the folder is. Raises `OSError` for a link, files of git, and others' rights."""
    root = repository.root.resolve()
    named = root / settings.layers.folder
    folder = real_path(root, named)
    if folder.is_relative_to(root) and repository.tracks(folder.relative_to(root)):
        raise OSError(1, "git tracks files in it, which a pull request may have brought")
    refuse_way(named, trusted_owners(root), mended=True)
    return folder


def _opened(repository: GitRepository, settings: Settings, *, writes: bool) -> Path:
    """Return the folder, made if need be and for us alone.

    Raises `OSError` for a link or files of git in it, and where others may write.
    """
    root = repository.root.resolve()
    owners = trusted_owners(root)
    folder = _place(repository, settings)
    new = not folder.exists()
    if writes and not folder.is_relative_to(root):
        make_private(folder)
    if writes:
        with made_folder(root, folder) as opened:
            mend_folder(opened, folder, owners, new=new)
            if folder.is_relative_to(root):
                replace_file(opened, ".gitignore", b"*\n")
        if new:
            hand_over(folder, root)
    elif not new:
        with opened_folder(folder) as opened:
            mend_folder(opened, folder, owners)
    refuse_way(root / settings.layers.folder, owners)
    return folder
