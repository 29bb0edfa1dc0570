"""What experiments call scorers, and the assertion that each stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateval.domain.base import JsonObject
from gateval.judging.presets.registry import PRESETS

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
