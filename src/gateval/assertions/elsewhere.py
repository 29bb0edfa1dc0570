"""What other tools call our assertions: who comes from there writes their names first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateval.domain.base import JsonObject
from gateval.judging.presets import PRESETS

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
    "`judge` with a rubric": "context-recall context-relevance search-rubric select-best",
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
    **{name: {"type": "judge", "preset": name} for name in PRESETS},
}
"""Any assertion of fixtures is a scorer, too; with `value`, `contains` and `numeric` are those."""
