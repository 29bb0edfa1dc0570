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

ELSEWHERE: Final[Mapping[str, str]] = {
    "icontains": "`contains` with `ignoreCase: true`",
    "not-icontains": "`notContains` with `ignoreCase: true`",
    "not-contains": "`notContains`",
    "contains-all": "one `contains` for each text",
    "contains-any": "`any` with one `contains` for each text, or a `regex` such as `one|other`",
    "llm-rubric": "`judge`",
    "llm-judge": "`llmJudge`, or `judge` with a rubric",
    "llm-grader": "`llmJudge`, or `judge` with a rubric",
    "code-judge": "`codeJudge`, or `script`",
    "code-grader": "`codeJudge`, or `script`",
    "rubrics": "`rubric` with `items`",
    "field-accuracy": "`fieldAccuracy`",
    "token-usage": "`tokenUsage`",
    "execution-metrics": "`executionMetrics`",
    "skill-trigger": "`skillTrigger`",
    "llm": "`judge`",
    "g-eval": "`judge`",
    "geval": "`judge`",
    "factuality": "`judge` with `preset: factuality`",
    "answer-relevance": "`judge` with `preset: answerRelevancy`",
    "context-faithfulness": "`judge` with `preset: faithfulness`",
    "model-graded-closedqa": "`judge`",
    "is-json": "`isJson`",
    "starts-with": "`startsWith`",
    "ends-with": "`endsWith`",
    "rouge-n": "`similar` with `metric: rouge-l`",
    "rouge-l": "`similar` with `metric: rouge-l`",
    "bleu": "`similar` with `metric: bleu`",
    "semantic-similarity": "`similar` with `metric: embeddings`",
    "embedding-similarity": "`similar` with `metric: embeddings`",
    "cosine": "`similar` with `metric: embeddings`",
    "cosine-similarity": "`similar` with `metric: embeddings`",
    "contains-json": "`jsonSchema`",
    "json-schema": "`jsonSchema`",
    "matches": "`regex`",
    "exact-match": "`exactMatch`, or `equals`",
    "equal": "`equals`",
    "javascript": "`script` with `command: [node, FILE]`",
    "py": "`python`",
    "webhook": "`script`, which may ask another program",
    "command": "`commandResult`, or `script` for a program of the repository",
    "exec": "`commandResult`, or `script` for a program of the repository",
    "file-exists": "`fileExists`",
    "file-contains": "`fileMatches`",
    "file-equals": "`fileEquals`",
    "file-matches": "`fileMatches`",
    "file-json": "`fileJson`",
    "sftp-file-present": "`fileExists`, or `fileJson` for what it holds",
    "env": "`environmentVariable`",
    "env-var": "`environmentVariable`",
    "environment": "`environmentVariable`, or `commandResult` for what a program finds there",
    "sql": "`sqlQuery`",
    "sql-query": "`sqlQuery`",
    "http": "`httpResponse`",
    "http-response": "`httpResponse`",
    "fhir-resource-state": "`httpResponse` of a service of the playground",
    "portal-state-match": "`httpResponse` of a service of the playground",
    "voice-transcript": "`transcriptContains` and `transcriptForbids`",
    "transcript-contains": "`transcriptContains`",
    "transcript-forbids": "`transcriptForbids`",
    "and": "`all`",
    "or": "`any`",
    "none": "`not`",
    "assert-set": "`all`, or `any`",
    "tool-call": "`toolCalled`, or `toolArguments` for what it was called with",
    "tool-used": "`toolCalled`",
    "tool-trajectory": "`toolTrajectory`, or `toolSequence`",
    "trajectory:tool-used": "`toolCalled`",
    "trajectory:tool-sequence": "`toolSequence`",
    "trajectory:tool-args-match": "`toolArguments`",
    "perplexity": "not possible: models do not tell it",
}
"""What other tools call an assertion, in small letters with `-`, and what to write here."""

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
