"""All runtimes by the name that manifests use.

Importing this stays cheap, for `plan` does it: a runtime's own module is loaded to start it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from gateval.candidates.bounded import check_template
from gateval.candidates.options import (
    AgentvOptions,
    CommandOptions,
    HttpOptions,
    NodeOptions,
    PythonOptions,
)
from gateval.domain.base import Spec

if TYPE_CHECKING:
    from gateval.candidates.base import Runtime


class NoOptions(Spec):
    """A runtime without keys of its own: what it needs stands beside `runtime` in the Agent."""


class RuntimeType(NamedTuple):
    """What manifests may say of a runtime, and the class that starts it, as `module:class`.

    `options` is the model of the YAML keys that only this runtime knows; `requires` the shared
    keys (`command`) that it cannot do without; `check_word` raises `ValueError` for a word of
    `command` that it cannot use. `bridge` is the folder of the bridge that starts the agent.
    """

    implementation: str
    options: type[Spec] = NoOptions
    requires: tuple[str, ...] = ()
    check_word: Callable[[str], None] = lambda _: None
    bridge: str = ""

    def load(self) -> type[Runtime]:
        """Import the runtime."""
        module, _, name = self.implementation.partition(":")
        return cast("type[Runtime]", getattr(import_module(module), name))


RUNTIMES: Mapping[str, RuntimeType] = MappingProxyType(
    {
        "model": RuntimeType("gateval.candidates.model:ModelRuntime"),
        "command": RuntimeType(
            "gateval.candidates.command:CommandRuntime",
            CommandOptions,
            ("command",),
            check_template,
        ),
        "http": RuntimeType("gateval.candidates.http:HttpRuntime", HttpOptions, ("command",)),
        "agentv": RuntimeType("gateval.candidates.agentv:AgentvRuntime", AgentvOptions),
        "python": RuntimeType(
            "gateval.candidates.bridged:PythonRuntime", PythonOptions, bridge="python"
        ),
        "node": RuntimeType("gateval.candidates.bridged:NodeRuntime", NodeOptions, bridge="node"),
    }
)
