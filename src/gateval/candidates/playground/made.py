"""A playground of one trial, as its candidate gets it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gateval.candidates.beside.addresses import Addresses
from gateval.candidates.preparing.workplace import Workplace
from gateval.domain.plan.plan import AgentDefinition


@dataclass(frozen=True)
class Playground:
    """Its folder, which the candidate may write, and what programs are told of it."""

    root: Path
    addresses: Addresses

    def shut(self) -> None:
        """Close it to others, now that its candidate is gone: it was given back readable."""
        self.root.chmod(0o700)

    def beside(self, addresses: Addresses) -> Addresses:
        """Return what programs of the trial are told: of an Agent's services, and of this."""
        return addresses.joined(self.addresses)


def told_of(playground: Playground | None, addresses: Addresses) -> Addresses:
    """Return the addresses of a trial, with or without a playground."""
    return addresses if playground is None else playground.beside(addresses)


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
