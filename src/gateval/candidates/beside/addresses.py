"""Where the services of a trial are, and its playground, and how programs are told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gateval.domain.manifests.fixtures.playground import OWN_FILES, PLAYGROUND, VARIABLE
from gateval.domain.manifests.fixtures.services import ServiceSpec, filled, joined


@dataclass(frozen=True)
class Addresses:
    """The services that run: name → host and port, and the variables that say so.

    `playground` is the path of the trial's, "" where it has none. `files` is the folder of the
    Agent's own files, where its programs begin in playgrounds, else "".
    """

    at: dict[str, tuple[str, int]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    playground: str = ""
    files: str = ""

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that a program beside them has to reach."""
        return tuple(port for _, port in self.at.values())

    def beside(self, service: ServiceSpec, host: str, port: int) -> Addresses:
        """Return these and one more."""
        return replace(
            self,
            at={**self.at, service.name: (host, port)},
            variables={**self.variables, service.variable: joined(host, port)},
        )

    def inside(self, playground: str, env: dict[str, str]) -> Addresses:
        """Return these for programs that work in this playground, with its variables."""
        variables = {**self.variables, **env, VARIABLE: playground}
        return replace(self, variables=variables, playground=playground)

    def joined(self, other: Addresses) -> Addresses:
        """Return both; where they name the same, `other` is meant."""
        return Addresses(
            {**self.at, **other.at},
            {**self.variables, **other.variables},
            other.playground or self.playground,
            other.files or self.files,
        )

    def fill(self, text: str) -> str:
        """Return `text`, which a manifest says, with `{services.NAME.port}` and its like filled."""
        given = text.replace(PLAYGROUND, self.playground) if self.playground else text
        return filled(given.replace(OWN_FILES, self.files) if self.files else given, self.at)

    def words(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the words of a command line, filled."""
        return tuple(map(self.fill, texts))

    def literals(self, env: dict[str, str]) -> dict[str, str]:
        """Return the literals of an environment, filled, and the variables beside them."""
        return {**{name: self.fill(text) for name, text in env.items()}, **self.variables}


@dataclass(frozen=True)
class Playground:
    """The playground of one trial: its folder, which the candidate may write, and its addresses."""

    root: Path
    addresses: Addresses

    def shut(self) -> None:
        """Close it to others, now that its candidate is gone: it was given back readable."""
        self.root.chmod(0o700)
