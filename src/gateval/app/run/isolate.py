"""Sets isolation up for one run: the walls of this system, and the process that keeps them."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gateval.candidates.isolation.egress import refuse_what_is_not_held
from gateval.candidates.isolation.engines import open_engines, refusal
from gateval.candidates.isolation.keeper import Keeper
from gateval.candidates.isolation.supervisor.orders import Caps, House
from gateval.candidates.isolation.toolchains import tool_places
from gateval.candidates.isolation.visible_paths import (
    SHARED,
    hidden_places,
    home_folders,
    passable,
    shared_places,
    usable_devices,
    visible_places,
)
from gateval.candidates.isolation.walls import Walls, build_walls, look_around, why_not_apart
from gateval.candidates.process.group import Groups
from gateval.candidates.process.program import MIB, Starter
from gateval.domain.manifests.own_checks import has_own_checks
from gateval.domain.plan.plan import Plan
from gateval.events import Listener, RunWarned
from gateval.settings import Settings


def starts_programs(plan: Plan) -> bool:
    """Whether a run of this plan starts any: candidates, people's own checks, or playgrounds."""
    programs = any(agent.runtime.starts_process for agent in plan.agents)
    return programs or any(
        has_own_checks(one.fixtures) or any(each.playground for each in one.fixtures)
        for one in plan.evals
    )


def walls_of(settings: Settings) -> Walls:
    """Return what will hold candidates here.

    This process can be looked into no more, and becomes the parent of what a killed supervisor
    leaves behind. Raises `EvaluationError` where they must not be started on a runner's machine.
    """
    system = look_around()
    walls = build_walls(system, settings.wishes)
    if settings.runner_folder:
        refused = refusal(walls, open_engines(settings.environ, system.user))
        if refused is not None:
            raise refused
    if walls.supervised:
        from gateval.candidates.isolation.supervisor import kernel

        kernel.become_undumpable()
        kernel.become_subreaper()
    return walls


def walls_for(plan: Plan, settings: Settings, listen: Listener) -> Walls | None:
    """Return what will hold a plan's candidates, and tell where that is less than it could be.

    None where no process is started. Raises `UsageError` where the policy asks for what nothing
    here can hold.
    """
    if not starts_programs(plan):
        return None
    walls = walls_of(settings)
    refuse_what_is_not_held(plan.policy.egress, walls)
    if walls.users and any(one.sealed for one in plan.evals):
        walls = replace(walls, apart=not why_not_apart(walls))  # alike whatever they ask
    if walls.not_promised:
        listen(RunWarned(message=walls.not_promised))
    return walls


@contextlib.contextmanager
def scratch_folder(walls: Walls | None) -> Iterator[Path]:
    """Give a fresh private folder for one run, where the users of its candidates can go."""
    parent = tempfile.gettempdir()
    if walls and walls.users:
        parent = next((path for path in (parent, *SHARED) if passable(path)), parent)
    with tempfile.TemporaryDirectory(
        prefix="gateval-", dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


@contextlib.contextmanager
def isolation(
    walls: Walls,
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
    if not walls.supervised:
        yield Groups()
        return
    scratch.chmod(0o711)  # their users have to pass through it to what is theirs
    house = _house(walls, settings, scratch, own)._replace(ports=ports, binds=binds)
    with Keeper(house) as keeper:
        yield keeper


def _house(walls: Walls, settings: Settings, scratch: Path, own: Sequence[Path]) -> House:
    homes, wishes = home_folders(settings.environ), settings.wishes
    hidden = hidden_places(settings.environ, [*own, *homes, scratch])
    prefixes = (sys.prefix, sys.base_prefix)
    tools = tool_places(settings.environ, prefixes, map(str, homes), map(str, own))
    return House(
        folder=str(scratch),
        users=walls.users,
        landlock=walls.landlock,
        caps=Caps(
            memory=wishes.memory_mib * MIB,
            disk=wishes.disk_mib * MIB,
            files=wishes.files,
            processes=wishes.processes,
        ),
        filtered=walls.filtered,
        apart=walls.apart,
        visible=visible_places(hidden, tools) if walls.landlock else [],
        usable=usable_devices(own_users=walls.users is not None),
        shared=shared_places(hidden, scratch, own_users=walls.users is not None),
    )
