"""Every assertion, by its name in YAML."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gateval.assertions.base import Assertion
from gateval.assertions.contains import Contains
from gateval.assertions.cost import Cost
from gateval.assertions.equals import Equals
from gateval.assertions.json_schema import JsonSchema
from gateval.assertions.judge import JudgeAssertion
from gateval.assertions.latency import Latency
from gateval.assertions.not_contains import NotContains
from gateval.assertions.regex import Regex
from gateval.assertions.tool_arguments import ToolArguments
from gateval.assertions.tool_called import ToolCalled
from gateval.assertions.tool_not_called import ToolNotCalled
from gateval.assertions.tool_sequence import ToolSequence

_ALL: tuple[type[Assertion], ...] = (
    ToolCalled,
    ToolNotCalled,
    ToolSequence,
    ToolArguments,
    Contains,
    NotContains,
    Regex,
    Equals,
    JsonSchema,
    Cost,
    Latency,
    JudgeAssertion,
)

ASSERTIONS: Mapping[str, type[Assertion]] = MappingProxyType({one.type: one for one in _ALL})
