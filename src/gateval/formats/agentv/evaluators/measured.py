"""Evaluators that count: tool calls, fields, time and tokens."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.agentv.evaluators.entry import Becomes, Entry, renamed
from gateval.formats.agentv.node import Node

_MODES = {"any_order": "anyOrder", "in_order": "inOrder"}
_CALL = ("tool", "args", "args_match", "max_duration_ms")
_FIELD = ("path", "match", "required", "weight", "tolerance", "relative", "formats")
_THOUSAND = 1000


def tool_trajectory(entry: Entry) -> Becomes:
    """Read the tool calls that are expected. Newer suites compare arguments exactly by default."""
    mode = entry.value("mode")
    options: JsonObject = {"mode": _MODES.get(str(mode), mode)}
    if entry.value("minimums") is not None:
        options["minimums"] = entry.value("minimums")
    if entry.value("expected") is not None:
        options["expected"] = [_call(entry, node) for node in entry.node.at("expected").items()]
    usual = "exact" if entry.context.newer else "superset"
    options["argumentsMatch"] = entry.value("args_match") or usual
    keys = {"mode": "mode", "minimums": "minimums", "expected": "expected"}
    return Becomes("toolTrajectory", options, {**keys, "argumentsMatch": "args_match"}, graded=True)


def _call(entry: Entry, node: Node) -> JsonValue:
    if not isinstance(node.value, dict):
        return node.value
    entry.context.found.problems += node.slips(_CALL)
    call: JsonObject = {"tool": node.at("tool").value}
    arguments, how = node.at("args").value, node.at("args_match").value
    if arguments not in (None, "any"):
        call["arguments"] = arguments
    if how is not None:
        call["argumentsMatch"] = how
    if (seconds := _seconds(node.at("max_duration_ms").value)) is not None:
        call["maxSeconds"] = seconds
    return call


def field_accuracy(entry: Entry) -> Becomes:
    """Read the fields of the answer that are compared with those expected."""
    for node in entry.node.at("fields").items():
        entry.context.found.problems += node.slips(_FIELD)
    aggregation = {"weighted_average": "weightedAverage", "all_or_nothing": "allOrNothing"}
    matches = {"numeric_tolerance": "numericTolerance"}
    options: JsonObject = {
        "fields": [
            {**field, "match": matches.get(str(how := field.get("match")), how)}
            if isinstance(field := node.value, dict) and "match" in field
            else node.value
            for node in entry.node.at("fields").items()
        ]
    }
    how = entry.value("aggregation")
    if how is not None:
        options["aggregation"] = aggregation.get(str(how), how)
    return Becomes("fieldAccuracy", options, {"fields": "fields"}, graded=True)


def latency(entry: Entry) -> Becomes | None:
    """Read the longest time, in milliseconds."""
    limit = entry.value("threshold")
    if limit is None:
        entry.tell(entry.node, "This evaluator needs `threshold`: the most milliseconds.")
        return None
    return Becomes("latency", {"maxSeconds": _seconds(limit)}, {"maxSeconds": "threshold"})


def cost(entry: Entry) -> Becomes | None:
    """Read the most US dollars."""
    if entry.value("budget") is None:
        entry.tell(entry.node, "This evaluator needs `budget`: the most US dollars.")
        return None
    return renamed(entry, "cost", {"budget": "maxUSD"})


def token_usage(entry: Entry) -> Becomes:
    """Read limits of tokens."""
    keys = {"max_total": "maxTotal", "max_input": "maxInput", "max_output": "maxOutput"}
    camel = {ours: ours for ours in keys.values()}
    return renamed(entry, "tokenUsage", {**camel, **keys})


def execution_metrics(entry: Entry) -> Becomes:
    """Read limits of calls, tokens and time."""
    keys = {
        "max_cost_usd": "maxUSD",
        "max_tool_calls": "maxToolCalls",
        "max_llm_calls": "maxLlmCalls",
        "max_tokens": "maxTokens",
        "target_exploration_ratio": "targetExplorationRatio",
        "exploration_tolerance": "explorationTolerance",
    }
    made = renamed(entry, "executionMetrics", keys, graded=True)
    if (seconds := _seconds(entry.value("max_duration_ms"))) is not None:
        made.options["maxSeconds"] = seconds
        made.keys = {**made.keys, "maxSeconds": "max_duration_ms"}
    return made


def skill_trigger(entry: Entry) -> Becomes:
    """Read which skill is to be taken up, or not."""
    return renamed(entry, "skillTrigger", {"skill": "skill", "should_trigger": "shouldTrigger"})


def _seconds(milliseconds: JsonValue) -> JsonValue:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return milliseconds
    return milliseconds / _THOUSAND
