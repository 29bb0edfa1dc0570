"""All types of evaluators, by the name that they have since version 4."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.formats.agentv.evaluators import judged, measured, programs, texts
from gateval.formats.agentv.evaluators.entry import Reading

KINDS: Mapping[str, Reading] = {
    "llm-grader": judged.llm,
    "rubrics": judged.rubric,
    "rubric": judged.rubric,
    "code-grader": programs.code,
    "composite": programs.composite,
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


NAMES = (
    *KINDS, *(name.replace("-", "_") for name in KINDS if "-" in name),
    "llm_judge", "code_judge", "llm-judge", "code-judge",
)  # fmt: skip
"""Every spelling of them."""


def normal(kind: str) -> str:
    """Return a type as the table has it: `llm_judge` and `llm-judge` are `llm-grader`."""
    return kind.strip().lower().replace("_", "-").replace("-judge", "-grader")
