"""How one server is started: what its process gets, and what it is called in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gateval.candidates.base import Runtime, RuntimeContext
from gateval.candidates.beside.addresses import Addresses
from gateval.candidates.preparing.workplace import Workplace, prepare_workplace
from gateval.candidates.process.processes import Programs
from gateval.candidates.process.program import KIB, MIB, Limits
from gateval.domain.manifests.fixtures.services import Ready
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import NoAnswer

PRINTED_LIMIT = 256 * MIB
"""Bytes that a server may print on each stream in its life."""


@dataclass(frozen=True)
class Launch:
    """All that starts of one server have in common.

    `command` and `env` are as written, with `{port}` where the port will stand. `what` is the
    subject of sentences about it, `key` the command's place. Only one that
    `asks_models` gets a way to them. `place` is where it works, `name` marks its processes;
    `addresses` are those of the services that it may ask, `writes` folders of a playground.
    """

    agent: AgentDefinition
    context: RuntimeContext
    programs: Programs
    place: Workplace
    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    ready: Ready
    what: str = "The server"
    key: str = "runtime.command"
    asks_models: bool = True
    addresses: Addresses = field(default_factory=Addresses)
    writes: tuple[Path, ...] = ()

    @property
    def limits(self) -> Limits:
        """The limits of a server's output. The limit of time is the caller's."""
        return Limits(
            seconds=float("inf"),
            grace_seconds=self.context.timeouts.grace_seconds,
            stdout_kept=64 * KIB,
            stdout_bytes=PRINTED_LIMIT,
            stderr_bytes=PRINTED_LIMIT,
        )

    @property
    def takes_port(self) -> bool:
        """Whether the port is handed over by the command or a literal."""
        return any("{port}" in text for text in (*self.command, *self.env.values()))


async def prepare_launch(
    runtime: Runtime, programs: Programs, ready: Ready | None = None
) -> Launch | NoAnswer:
    """Prepare where an Agent's own command works; return how it is started, or why it cannot be."""
    agent, context, name = runtime.agent, runtime.context, runtime.name
    place = await prepare_workplace(agent, context, programs, name)
    if isinstance(place, NoAnswer):
        return place
    spec = agent.runtime
    own = Addresses(files=str(place.folder) if spec.in_playground else "")
    return Launch(
        agent, context, programs, place, name, spec.command, spec.env, ready or Ready(),
        addresses=own,
    )  # fmt: skip
