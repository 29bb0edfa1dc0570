"""The commands `before` and `after` of each trial, behind the same walls as the candidate.

What they fail at is the Agent's own doing, as with a set-up: head's broken `before` must not turn
a regression into a trial that nobody measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gateval.candidates.beside.addresses import Addresses
from gateval.candidates.environment import instance_environment
from gateval.candidates.process.failures import command_line, failure, no_start
from gateval.candidates.process.private import PrivateFolders
from gateval.candidates.process.program import Limits, NotStarted, Program
from gateval.candidates.serving.launch import Launch
from gateval.domain.trials.trial import NoAnswer


@dataclass(frozen=True)
class Ground:
    """Where the commands of one trial run: where services are, in which private folders, and at
    which port the Agent's server is, if it is one. `writes` are folders of a playground.
    """

    addresses: Addresses
    private: PrivateFolders
    port: int | None = None
    writes: tuple[Path, ...] = ()


class Commands:
    """Runs them for one Agent on one side. `launch` is its own; `warn` is told of an `after` that
    failed.
    """

    def __init__(self, launch: Launch, warn: Callable[[str], None]) -> None:
        self._launch = launch
        self._warn = warn
        self._failed = 0

    async def before(self, ground: Ground) -> NoAnswer | None:
        """Run `before`, and return why the trial cannot begin, or None."""
        return await self._run("before", self._launch.agent.runtime.before, ground)

    async def after(self, ground: Ground) -> bool:
        """Run `after`, and say whether all is as it was meant to be. Tells of the first failure."""
        failed = await self._run("after", self._launch.agent.runtime.after, ground)
        if failed is None:
            return True
        self._failed += 1
        if self._failed == 1:
            said = "; ".join(failed.detail[1:])[-500:]
            shown = f" It printed: {said}" if said else ""
            self._warn(
                f"{failed.reason}{shown} The answer counts, as it came before; what the "
                "gate started beside it is started anew for the next one."
            )
        return False

    def close(self) -> None:
        """Tell how often `after` failed."""
        if self._failed > 1:
            self._warn(f"`after` failed {self._failed} times.")
        self._failed = 0

    async def _run(self, key: str, argv: tuple[str, ...], ground: Ground) -> NoAnswer | None:
        if not argv:
            return None
        _shut(ground.private)
        try:
            return await self._done(key, _filled(argv, ground), ground)
        finally:
            _shut(ground.private)

    async def _done(self, key: str, argv: tuple[str, ...], ground: Ground) -> NoAnswer | None:
        """Run one, and return why it counts as failed, or None."""
        launch, private = self._launch, ground.private
        timeouts = launch.context.timeouts
        limits = Limits(seconds=timeouts.beside_seconds, grace_seconds=timeouts.grace_seconds)
        own = () if ground.port is None else (ground.port,)
        server = {} if ground.port is None else {"PORT": str(ground.port)}
        literals = ground.addresses.literals(launch.agent.runtime.env) | server
        env = instance_environment(launch.context.environ, launch.name, private, literals)
        program = Program(
            argv,
            launch.place.folder,
            env,
            writes=(private.home, *ground.writes),
            reads=launch.place.reads,
            ports=(*own, *ground.addresses.ports),
        )
        try:
            ran = await launch.programs.run(program, limits)
        except NotStarted as error:
            line = command_line(argv)
            return no_start(f"`{key}` could not be run. {error.reason}", line, error.cause)
        failed = failure(f"`{key}`", ran, argv, limits)
        if failed is None or key != "before":
            return failed
        reason = f"{failed.reason} The agent was not asked."
        return failed.model_copy(update={"reason": reason})


def _filled(argv: tuple[str, ...], ground: Ground) -> tuple[str, ...]:
    port = "{port}" if ground.port is None else str(ground.port)
    home = str(ground.private.home)
    words = (word.replace("{port}", port).replace("{home}", home) for word in argv)
    return ground.addresses.words(words)


def _shut(private: PrivateFolders) -> None:
    """Close the folders to others again: their last user gave them back readable.

    Only the outermost, which nobody but the gate can have put something else in the place of.
    """
    private.home.parent.chmod(0o700)
