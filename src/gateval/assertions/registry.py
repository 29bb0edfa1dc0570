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
    "toolCalled": "tools.tool_called.ToolCalled",
    "toolNotCalled": "tools.tool_not_called.ToolNotCalled",
    "toolSequence": "tools.tool_sequence.ToolSequence",
    "toolArguments": "tools.tool_arguments.ToolArguments",
    "contains": "text.contains.Contains",
    "notContains": "text.not_contains.NotContains",
    "startsWith": "text.starts_with.StartsWith",
    "endsWith": "text.ends_with.EndsWith",
    "regex": "text.regex.Regex",
    "equals": "text.equals.Equals",
    "numeric": "text.numeric.Numeric",
    "similar": "text.similar.Similar",
    "isJson": "text.is_json.IsJson",
    "jsonSchema": "text.json_schema.JsonSchema",
    "cost": "cost.Cost",
    "latency": "latency.Latency",
    "judge": "judge.JudgeAssertion",
    "script": "own.script.Script",
    "python": "own.python.Python",
    "all": "combinators.all_of.All",
    "any": "combinators.any_of.Any",
    "not": "combinators.none_of.Not",
    "llmJudge": "graded.judges.llm_judge.LlmJudge",
    "judgeFromScript": "graded.judges.from_script.JudgeFromScript",
    "rubric": "graded.judges.rubric.Rubric",
    "codeJudge": "graded.code_judge.CodeJudge",
    "composite": "graded.composites.composite.Composite",
    "compositeScript": "graded.composites.by_script.CompositeScript",
    "compositeJudge": "graded.composites.by_judge.CompositeJudge",
    "toolTrajectory": "graded.measures.tool_trajectory.ToolTrajectory",
    "fieldAccuracy": "graded.measures.field_accuracy.FieldAccuracy",
    "tokenUsage": "graded.measures.token_usage.TokenUsage",
    "executionMetrics": "graded.measures.execution_metrics.ExecutionMetrics",
    "skillTrigger": "graded.measures.skill_trigger.SkillTrigger",
    "exactMatch": "scorers.exact_match.ExactMatch",
    "containsExpected": "scorers.contains_expected.ContainsExpected",
    "levenshtein": "scorers.levenshtein.Levenshtein",
    "numericExpected": "scorers.numeric_expected.NumericExpected",
    "jsonMatch": "scorers.json_match.JsonMatch",
    "toolUsage": "scorers.tool_usage.ToolUsage",
    "costScore": "scorers.cost_score.CostScore",
    "latencyScore": "scorers.latency_score.LatencyScore",
    "fileExists": "state.file_exists.FileExists",
    "fileEquals": "state.file_equals.FileEquals",
    "fileMatches": "state.file_matches.FileMatches",
    "fileJson": "state.file_json.FileJson",
    "directoryListing": "state.directory_listing.DirectoryListing",
    "environmentVariable": "state.environment_variable.EnvironmentVariable",
    "commandResult": "state.command_result.CommandResult",
    "httpResponse": "state.http_response.HttpResponse",
    "sqlQuery": "state.sql_query.SqlQuery",
    "wireCall": "state.wire_call.WireCall",
    "transcriptContains": "state.transcript_contains.TranscriptContains",
    "transcriptForbids": "state.transcript_forbids.TranscriptForbids",
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
