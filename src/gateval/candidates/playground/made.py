"""What a trial in a playground is started with, and where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gateval.candidates.beside.addresses import Addresses, Playground
from gateval.candidates.preparing.workplace import Workplace
from gateval.candidates.serving.launch import Launch
from gateval.domain.plan.plan import AgentDefinition


def told_of(playground: Playground | None, addresses: Addresses) -> Addresses:
    """Return what programs of a trial are told: of an Agent's services, and of a playground."""
    return addresses if playground is None else addresses.joined(playground.addresses)


def beginning(agent: AgentDefinition, place: Workplace, playground: Playground | None) -> Workplace:
    """Return where an Agent's programs begin in a trial: in their own files, or in its playground
    if the Agent says so.
    """
    if playground is None or not agent.runtime.in_playground:
        return place
    return Workplace(playground.root, (place.folder, *place.reads))


def writable(playground: Playground | None) -> tuple[Path, ...]:
    """Return the folders of a trial's playground that its programs may write."""
    return () if playground is None else (playground.root,)


def in_playground(launch: Launch, addresses: Addresses, playground: Playground | None) -> Launch:
    """Return how a server is started for a trial: beside services, in its playground if any."""
    return replace(
        launch,
        place=beginning(launch.agent, launch.place, playground),
        addresses=told_of(playground, addresses),
        writes=writable(playground),
    )
