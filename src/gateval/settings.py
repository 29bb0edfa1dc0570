"""The environment, read once into one frozen value. Never passed below `app`; no secret prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateval.adapters.screen import is_plain
from gateval.gateway.upstream import Upstream, read_upstreams


@dataclass(frozen=True)
class Settings:
    """What the environment says. `upstreams` hold keys as secrets that do not show in `repr`."""

    upstreams: Mapping[str, Upstream]
    environ: Mapping[str, str]
    plain: bool

    def __repr__(self) -> str:
        return f"Settings(upstreams={sorted(self.upstreams)})"


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings. Raises `UsageError` that names the variable at fault."""
    return Settings(
        upstreams=read_upstreams(environ),
        environ=dict(environ),
        plain=is_plain(environ),
    )
