"""Every assertion, by its name in YAML. An entry's module is imported when it is first asked for.

Creating a dozen pydantic classes takes 8 ms, and `gateval plan`, which mostly needs none of them,
reads this registry on every start.

What other tools call our assertions: who comes from there writes their names first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

from gateval.domain.base import JsonObject
from gateval.domain.manifests.fixture import JUDGE_PRESETS

if TYPE_CHECKING:
    from gateval.assertions.base import Assertion


_ELSEWHERE: Final = {
    "`contains` with `ignoreCase: true`": "icontains",
    "`notContains` with `ignoreCase: true`": "not-icontains",
    "`notContains`": "not-contains",
    "`not` with a `regex` in it": "not-regex",
    "`not` with an `equals` in it": "not-equals",
    "`not` with a `startsWith` in it": "not-starts-with",
    "`not` with an `isJson` in it": "not-is-json",
    "`not` with a `jsonSchema` in it": "not-contains-json",
    "`not` with a `similar` in it": "not-similar",
    "one `contains` for each text": "contains-all",
    "one `contains` with `ignoreCase: true` for each text": "icontains-all",
    "`any` with one `contains` with `ignoreCase: true` for each text": "icontains-any",
    "`any` with one `contains` for each text, or a `regex` such as `one|other`": "contains-any",
    "`judge`": "llm-rubric llm g-eval geval model-graded-closedqa",
    "`llmJudge`, or `judge` with a rubric": "llm-judge llm-grader",
    "`codeJudge`, or `script`": "code-judge code-grader",
    "`rubric` with `items`": "rubrics",
    "`fieldAccuracy`": "field-accuracy",
    "`tokenUsage`": "token-usage",
    "`executionMetrics`": "execution-metrics trajectory:step-count",
    "`skillTrigger`": "skill-trigger",
    "`judge` with `preset: factuality`": "factuality model-graded-factuality",
    "`judge` with `preset: answerRelevancy`": "answer-relevance",
    "`judge` with `preset: faithfulness`": "context-faithfulness",
    "`judge` with a rubric": "context-recall context-relevance search-rubric",
    "`preference`": "select-best pairwise pairwise-comparison",
    "`judge` with a rubric, or `script`": "classifier moderation guardrails",
    "`judge` with a rubric, or `regex`": "is-refusal",
    "`toolArguments`": "is-valid-openai-tools-call is-valid-openai-function-call "
    "is-valid-function-call trajectory:tool-args-match",
    "`toolUsage` with `others: counted`": "tool-call-f1",
    "`script`": "is-sql is-xml is-html finish-reason",
    "`regex`, or `script`": "word-count",
    "`similar` with `metric: bleu`": "gleu bleu",
    "`similar` with `metric: rouge-l`": "meteor f-score rouge-n rouge-l",
    "`isJson`": "is-json",
    "`startsWith`": "starts-with",
    "`endsWith`": "ends-with",
    "`similar` with `metric: embeddings`": "semantic-similarity embedding-similarity "
    "cosine cosine-similarity",
    "`jsonSchema`": "contains-json json-schema",
    "`regex`": "matches",
    "`exactMatch`, or `equals`": "exact-match",
    "`equals`": "equal",
    "`script` with `command: [node, FILE]`": "javascript",
    "`python`": "py",
    "`script`, which may ask another program": "webhook",
    "`commandResult`, or `script` for a program of the repository": "command exec",
    "`fileExists`": "file-exists",
    "`fileMatches`": "file-contains file-matches",
    "`fileEquals`": "file-equals",
    "`fileJson`": "file-json",
    "`fileExists`, or `fileJson` for what it holds": "sftp-file-present",
    "`environmentVariable`": "env env-var",
    "`environmentVariable`, or `commandResult` for what a program finds there": "environment",
    "`sqlQuery`": "sql sql-query",
    "`httpResponse`": "http http-response",
    "`httpResponse` of a service of the playground": "fhir-resource-state portal-state-match",
    "`transcriptContains` and `transcriptForbids`": "voice-transcript",
    "`transcriptContains`": "transcript-contains",
    "`transcriptForbids`": "transcript-forbids",
    "`all`": "and",
    "`any`": "or",
    "`not`": "none",
    "`all`, or `any`": "assert-set",
    "`toolCalled`, or `toolArguments` for what it was called with": "tool-call",
    "`toolCalled`": "tool-used trajectory:tool-used",
    "`toolTrajectory`, or `toolSequence`": "tool-trajectory",
    "`toolSequence`": "trajectory:tool-sequence",
    "not possible: models do not tell it": "perplexity",
}

ELSEWHERE: Final[Mapping[str, str]] = {
    name: ours for ours, names in _ELSEWHERE.items() for name in names.split()
}
"""What other tools call an assertion, in small letters with `-`, and what to write here."""


SCORERS: Final[Mapping[str, JsonObject]] = {
    "exactMatch": {"type": "exactMatch"},
    "contains": {"type": "containsExpected"},
    "levenshtein": {"type": "levenshtein"},
    "numeric": {"type": "numericExpected"},
    "json": {"type": "jsonMatch"},
    "toolUsage": {"type": "toolUsage"},
    "cost": {"type": "costScore"},
    "latency": {"type": "latencyScore"},
    **{name: {"type": "judge", "preset": name} for name in JUDGE_PRESETS},
}
"""Any assertion of fixtures is a scorer, too; with `value`, `contains` and `numeric` are those."""


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
    "similar": "text.Similar",
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
    "preference": "preference.PreferenceAssertion",
    "codeJudge": "code_judge.CodeJudge",
    "composite": "combinators.Composite",
    "compositeScript": "combinators.CompositeScript",
    "compositeJudge": "combinators.CompositeJudge",
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

JUDGED: Final = frozenset(
    {"judge", "llmJudge", "judgeFromScript", "rubric", "compositeJudge", "preference"}
)
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
