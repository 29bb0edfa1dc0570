"""Every assertion, by its name in YAML. An entry's module is imported when it is first asked for.

Creating a dozen pydantic classes takes 8 ms, and `gateval plan`, which mostly needs none of them,
reads this registry on every start.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gateval.assertions.base import Assertion

_ENTRIES: Final = {
    "toolCalled": "tools.ToolCalled",
    "toolNotCalled": "tools.ToolNotCalled",
    "toolSequence": "tools.ToolSequence",
    "toolArguments": "tools.ToolArguments",
    "contains": "text.Contains",
    "notContains": "text.NotContains",
    "startsWith": "text.StartsWith",
    "endsWith": "text.EndsWith",
    "regex": "text.Regex",
    "equals": "text.Equals",
    "numeric": "text.Numeric",
    "similar": "similar.Similar",
    "isJson": "text.IsJson",
    "jsonSchema": "text.JsonSchema",
    "cost": "limits.Cost",
    "latency": "limits.Latency",
    "judge": "graded_judges.JudgeAssertion",
    "script": "own_checks.Script",
    "python": "own_checks.Python",
    "all": "combinators.All",
    "any": "combinators.Any",
    "not": "combinators.Not",
    "llmJudge": "graded_judges.LlmJudge",
    "judgeFromScript": "graded_judges.JudgeFromScript",
    "rubric": "graded_judges.Rubric",
    "codeJudge": "code_judge.CodeJudge",
    "composite": "composites.Composite",
    "compositeScript": "composites.CompositeScript",
    "compositeJudge": "composites.CompositeJudge",
    "toolTrajectory": "tools.ToolTrajectory",
    "fieldAccuracy": "field_accuracy.FieldAccuracy",
    "tokenUsage": "limits.TokenUsage",
    "executionMetrics": "limits.ExecutionMetrics",
    "skillTrigger": "tools.SkillTrigger",
    "exactMatch": "scorers.ExactMatch",
    "containsExpected": "scorers.ContainsExpected",
    "levenshtein": "scorers.Levenshtein",
    "numericExpected": "scorers.NumericExpected",
    "jsonMatch": "scorers.JsonMatch",
    "toolUsage": "scorers.ToolUsage",
    "costScore": "scorers.CostScore",
    "latencyScore": "scorers.LatencyScore",
    "fileExists": "state_files.FileExists",
    "fileEquals": "state_files.FileEquals",
    "fileMatches": "state_files.FileMatches",
    "fileJson": "state_files.FileJson",
    "directoryListing": "state_files.DirectoryListing",
    "environmentVariable": "state_programs.EnvironmentVariable",
    "commandResult": "state_programs.CommandResult",
    "httpResponse": "state_programs.HttpResponse",
    "sqlQuery": "state_programs.SqlQuery",
    "wireCall": "transcript.WireCall",
    "transcriptContains": "transcript.TranscriptContains",
    "transcriptForbids": "transcript.TranscriptForbids",
}

JUDGED: Final = frozenset({"judge", "llmJudge", "judgeFromScript", "rubric", "compositeJudge"})
"""The types with `needs_judge`, known without importing any; a test compares the two."""

WEIGHING: Final = frozenset({"composite", "compositeScript", "compositeJudge"})
"""The types that weigh others, known in the same way."""

COMBINATORS: Final = frozenset({"all", "any", "not"}) | WEIGHING
"""The types that are made of others, those among them."""


class _Registry(Mapping[str, "type[Assertion]"]):
    def __getitem__(self, name: str) -> type[Assertion]:
        return _load(_ENTRIES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_ENTRIES)

    def __len__(self) -> int:
        return len(_ENTRIES)

    def __contains__(self, name: object) -> bool:
        return name in _ENTRIES


ASSERTIONS: Mapping[str, type[Assertion]] = _Registry()


@functools.cache
def _load(entry: str) -> type[Assertion]:
    module, _, name = entry.rpartition(".")
    loaded: type[Assertion] = getattr(import_module(f"gateval.assertions.{module}"), name)
    return loaded
