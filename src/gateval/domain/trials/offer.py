"""What models are offered: the system prompt, the tools, the parameters, as they stand on the wire.

Whatever framework writes the requests.
"""

from __future__ import annotations

from collections.abc import Iterable

from gateval.domain.base import Value
from gateval.domain.trials.model_call import ModelRequest, ToolDefinition

LINES_LIMIT = 2_000
"""Lines kept of the system prompts of one trial."""

TOOLS_LIMIT = 200
"""Tools kept of one trial."""

_REQUESTS = 100
"""Different requests of one trial that are looked at."""

_LINE = 2_000


class ModelOffer(Value):
    """What models are offered in one trial, or in each of several.

    `system` are the lines of all system prompts, each once, in order. Parameters are those of
    every request, as text; one that is not set is not there.
    """

    models: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    parameters: tuple[str, ...] = ()


class OffersOfTrial:
    """Collects what the requests of one trial offer, together."""

    def __init__(self) -> None:
        self._seen: set[object] = set()
        self._models: dict[str, None] = {}
        self._system: dict[str, None] = {}
        self._tools: dict[str, ToolDefinition] = {}
        self._last: tuple[ToolDefinition, ...] = ()
        self._parameters: dict[str, None] = {}

    def add(self, model: str, request: ModelRequest) -> None:
        """Take a request to `model` (`provider/model-id`)."""
        said = tuple(one.text for one in request.messages if one.role == "system")
        set_to = (("temperature", request.temperature), ("max_tokens", request.max_tokens))
        if request.tools != self._last:
            self._last = request.tools
            self._tools |= {tool.name: tool for tool in request.tools[:TOOLS_LIMIT]}
        if (model, said, set_to) in self._seen or len(self._seen) >= _REQUESTS:
            return
        self._seen.add((model, said, set_to))
        self._models[model] = None
        self._system |= {line[:_LINE]: None for text in said for line in text.splitlines()}
        given = (f"{name} {value:g}" for name, value in set_to if value is not None)
        self._parameters |= dict.fromkeys(given)

    def found(self) -> ModelOffer | None:
        """Return what was offered; None where no model was asked."""
        if not self._models:
            return None
        return ModelOffer(
            models=tuple(self._models),
            system=tuple(self._system)[:LINES_LIMIT],
            tools=tuple(self._tools.values())[:TOOLS_LIMIT],
            parameters=tuple(self._parameters),
        )


def in_one_trial(offers: Iterable[ModelOffer | None]) -> ModelOffer | None:
    """Return what the turns of a trial offer together; None where no model was asked."""
    every = [one for one in offers if one is not None]
    if len(every) < 2:
        return every[0] if every else None
    tools = {tool.name: tool for one in every for tool in one.tools}
    lines = dict.fromkeys(line for one in every for line in one.system)
    return ModelOffer(
        models=tuple(dict.fromkeys(name for one in every for name in one.models)),
        system=tuple(lines)[:LINES_LIMIT],
        tools=tuple(tools.values())[:TOOLS_LIMIT],
        parameters=tuple(dict.fromkeys(each for one in every for each in one.parameters)),
    )
