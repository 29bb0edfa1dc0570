"""All runtimes by the name that manifests use. Importing this stays cheap: `plan` does it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gateval.candidates.agentv import AgentvRuntime
from gateval.candidates.base import Runtime
from gateval.candidates.command import CommandRuntime
from gateval.candidates.http import HttpRuntime
from gateval.candidates.model import ModelRuntime

RUNTIMES: Mapping[str, type[Runtime]] = MappingProxyType(
    {
        "model": ModelRuntime,
        "command": CommandRuntime,
        "http": HttpRuntime,
        "agentv": AgentvRuntime,
    }
)
