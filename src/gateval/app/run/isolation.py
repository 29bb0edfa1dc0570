"""Sets isolation up for one run: the walls, the process that keeps them, and the kept layers.

A pull request must not hand over layers: its files may not lie in the folder, and its processes may
not reach it. Layers go to a cache that others read, forks too: none is kept that saw a secret. All
are signed. Where a job has no key for that, only layers of the default branch's cache are read, and
none is kept.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gateval.adapters.folders import hand_over, made_folder, opened_folder, real_path, replace_file
from gateval.adapters.git.repository import GitRepository
from gateval.adapters.layer_store import LayerStore
from gateval.adapters.layer_trust import (
    key_path,
    make_private,
    mend_folder,
    own_key,
    refuse_shared,
    refuse_way,
    trusted_owners,
)
from gateval.candidates.isolation.isolation_level import (
    IsolationLevel,
    build_isolation,
    look_around,
    open_engines,
    refusal,
    refuse_what_is_not_held,
    why_not_apart,
)
from gateval.candidates.isolation.supervisor.confine import Caps, SupervisorConfig
from gateval.candidates.isolation.supervisor_client import SupervisorClient
from gateval.candidates.isolation.visible_paths import (
    SHARED,
    hidden_places,
    home_folders,
    passable,
    shared_places,
    tool_places,
    usable_devices,
    visible_places,
)
from gateval.candidates.program import MIB, Groups, Starter
from gateval.domain.manifests.fixture import has_own_checks, own_checks, set_up_inputs
from gateval.domain.plan.plan import Plan
from gateval.events import Listener, RunWarned
from gateval.safe.redaction import secret_values
from gateval.settings import LAYERS, LAYERS_KEY, Settings


def starts_programs(plan: Plan) -> bool:
    """Whether a run of this plan starts any: candidates, people's own checks, or playgrounds."""
    programs = any(agent.runtime.starts_process for agent in plan.agents)
    return programs or any(
        has_own_checks(one.fixtures) or any(each.playground for each in one.fixtures)
        for one in plan.evals
    )


def isolation_of(settings: Settings) -> IsolationLevel:
    """Return what will hold candidates here.

    This process can be looked into no more, and becomes the parent of what a killed supervisor
    leaves behind. Raises `EvaluationError` where they must not be started on a runner's machine.
    """
    system = look_around()
    isolation_level = build_isolation(system, settings.limits)
    if settings.runner_folder:
        refused = refusal(isolation_level, open_engines(settings.environ, system.user))
        if refused is not None:
            raise refused
    if isolation_level.supervised:
        from gateval.candidates.isolation.supervisor import kernel

        kernel.become_undumpable()
        kernel.become_subreaper()
    return isolation_level


def isolation_for(plan: Plan, settings: Settings, listen: Listener) -> IsolationLevel | None:
    """Return what will hold a plan's candidates, and tell where that is less than it could be.

    None where no process is started. Raises `UsageError` where the policy asks for what nothing
    here can hold.
    """
    if not starts_programs(plan):
        return None
    isolation_level = isolation_of(settings)
    refuse_what_is_not_held(plan.policy.egress, isolation_level)
    if isolation_level.users and any(one.sealed for one in plan.evals):
        isolation_level = replace(
            isolation_level, apart=not why_not_apart(isolation_level)
        )  # alike whatever they ask
    if isolation_level.not_promised:
        listen(RunWarned(message=isolation_level.not_promised))
    return isolation_level


@contextlib.contextmanager
def scratch_folder(isolation_level: IsolationLevel | None) -> Iterator[Path]:
    """Give a fresh private folder for one run, where the users of its candidates can go."""
    parent = tempfile.gettempdir()
    if isolation_level and isolation_level.users:
        parent = next((path for path in (parent, *SHARED) if passable(path)), parent)
    with tempfile.TemporaryDirectory(
        prefix="gateval-", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


@contextlib.contextmanager
def isolation(
    isolation_level: IsolationLevel,
    settings: Settings,
    scratch: Path,
    own: Sequence[Path],
    *,
    ports: list[int] | None,
    binds: list[int] | None = None,
) -> Iterator[Starter]:
    """Give what starts candidates behind these walls.

    `scratch` is the run's folder, gone at the end; `own` are folders that candidates must not see;
    `ports` are those that they may connect to by TCP, and `binds` those that they may listen on
    beside their own; None for all.
    """
    if not isolation_level.supervised:
        yield Groups()
        return
    scratch.chmod(0o711)  # their users have to pass through it to what is theirs
    homes, limits = home_folders(settings.environ), settings.limits
    hidden = hidden_places(settings.environ, [*own, *homes, scratch])
    prefixes = (sys.prefix, sys.base_prefix)
    tools = tool_places(settings.environ, prefixes, map(str, homes), map(str, own))
    own_users = isolation_level.users is not None
    supervisor_config = SupervisorConfig(
        folder=str(scratch),
        users=isolation_level.users,
        landlock=isolation_level.landlock,
        caps=Caps(
            memory=limits.memory_mib * MIB,
            disk=limits.disk_mib * MIB,
            files=limits.files,
            processes=limits.processes,
        ),
        filtered=isolation_level.filtered,
        apart=isolation_level.apart,
        visible=visible_places(hidden, tools) if isolation_level.landlock else [],
        usable=usable_devices(own_users=own_users),
        shared=shared_places(hidden, scratch, own_users=own_users),
        ports=ports,
        binds=binds,
    )
    with SupervisorClient(supervisor_config) as supervisor_client:
        yield supervisor_client


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
    isolation_level: IsolationLevel | None,
    scratch: Path,
    tell: Callable[[str], None],
) -> Iterator[LayerStore | None]:
    """Give the layers that are kept for later runs; None where nobody asked, or it is not safe."""
    wanted = settings.layers
    asked = wanted.folder and _has_layers(plan)
    why_not = _refusal(plan, settings, isolation_level) if asked else ""
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


def _refusal(plan: Plan, settings: Settings, isolation_level: IsolationLevel | None) -> str:
    passed = plan.policy.candidate_env
    if any(secret_values(settings.environ, passed)):
        return (
            "Set-ups are not kept for later runs: policy.candidateEnv hands them secrets, and "
            "whoever may read the cache could find these in it."
        )
    if settings.in_ci and settings.layers.key is None and not settings.layers.unsigned:
        return KEYLESS
    if isolation_level is None or not (isolation_level.users or isolation_level.landlock):
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
