"""All types of evaluators, by the name that they have since version 4."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.formats.agentv.evaluators import composites, judged, measured, programs, texts
from gateval.formats.agentv.evaluators.entry import Reading

KINDS: Mapping[str, Reading] = {
    "llm-grader": judged.llm,
    "rubrics": judged.rubric,
    "rubric": judged.rubric,
    "code-grader": programs.code,
    "composite": composites.composite,
    "tool-trajectory": measured.tool_trajectory,
    "field-accuracy": measured.field_accuracy,
    "latency": measured.latency,
    "cost": measured.cost,
    "token-usage": measured.token_usage,
    "execution-metrics": measured.execution_metrics,
    "skill-trigger": measured.skill_trigger,
    "contains": texts.one("contains"),
    "icontains": texts.one("contains", ignore_case=True),
    "contains-any": texts.several("any"),
    "contains-all": texts.several("all"),
    "icontains-any": texts.several("any", ignore_case=True),
    "icontains-all": texts.several("all", ignore_case=True),
    "starts-with": texts.one("startsWith"),
    "ends-with": texts.one("endsWith"),
    "equals": texts.one("equals"),
    "regex": texts.regex,
    "is-json": texts.is_json,
}


KEYS: Mapping[str, tuple[str, ...]] = {
    "llm-grader": judged.LLM_KEYS,
    "rubric": judged.LLM_KEYS,
    "rubrics": judged.LLM_KEYS,
    "code-grader": programs.CODE_KEYS,
    "composite": ("evaluators", "assertions", "assert", "aggregator"),
    "tool-trajectory": ("mode", "minimums", "expected", "args_match"),
    "field-accuracy": ("fields", "aggregation"),
    "latency": ("threshold",),
    "cost": ("budget",),
    "token-usage": ("max_total", "max_input", "max_output", "maxTotal", "maxInput", "maxOutput"),
    "execution-metrics": (
        "max_tool_calls", "max_llm_calls", "max_tokens", "max_duration_ms", "max_cost_usd",
        "target_exploration_ratio", "exploration_tolerance",
    ),
    "skill-trigger": ("skill", "should_trigger"),
    "regex": ("value", "pattern", "flags"),
}  # fmt: skip
"""The keys of each type beside the common ones; `value`, where it is not in here."""

NAMES = (
    *KINDS, *(name.replace("-", "_") for name in KINDS if "-" in name),
    "llm_judge", "code_judge", "llm-judge", "code-judge",
)  # fmt: skip
"""Every spelling of them."""


def normal(kind: str) -> str:
    """Return a type as the table has it: `llm_judge` and `llm-judge` are `llm-grader`."""
    return kind.strip().lower().replace("_", "-").replace("-judge", "-grader")
