"""Where the services of an Agent are, and how programs are told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gateval.domain.manifests.services import ServiceSpec, filled, joined


@dataclass(frozen=True)
class Addresses:
    """The services that run: name → host and port, and the variables that say so."""

    at: dict[str, tuple[str, int]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that a program beside them has to reach."""
        return tuple(port for _, port in self.at.values())

    def beside(self, service: ServiceSpec, host: str, port: int) -> Addresses:
        """Return these and one more."""
        return Addresses(
            {**self.at, service.name: (host, port)},
            {**self.variables, service.variable: joined(host, port)},
        )

    def fill(self, text: str) -> str:
        """Return `text`, which a manifest says, with `{services.NAME.port}` and its like filled."""
        return filled(text, self.at)

    def words(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Return the words of a command line, filled."""
        return tuple(map(self.fill, texts))

    def literals(self, env: dict[str, str]) -> dict[str, str]:
        """Return the literals of an environment, filled, and the variables beside them."""
        return {**{name: self.fill(text) for name, text in env.items()}, **self.variables}
