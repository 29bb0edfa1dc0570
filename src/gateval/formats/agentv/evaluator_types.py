"""Every type of evaluator that AgentV has, and what it becomes here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.paths import show_path
from gateval.domain.text import quote
from gateval.domain.tree import LOCK_PATH
from gateval.formats.agentv.evaluator import (
    MOST,
    Becomes,
    EvaluatorEntry,
    Reading,
    is_weight,
    renamed,
)
from gateval.formats.agentv.node import Node, twice
from gateval.formats.agentv.references import NoFile, find, foreign_text, is_foreign, text_at
from gateval.formats.problems import one_of

_MODES = {"any_order": "anyOrder", "in_order": "inOrder"}
_CALL = ("tool", "args", "args_match", "max_duration_ms")
_FIELD = ("path", "match", "required", "weight", "tolerance", "relative", "formats")
_THOUSAND = 1000


def tool_trajectory(entry: EvaluatorEntry) -> Becomes:
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


def _call(entry: EvaluatorEntry, node: Node) -> JsonValue:
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


def field_accuracy(entry: EvaluatorEntry) -> Becomes:
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


def latency(entry: EvaluatorEntry) -> Becomes | None:
    """Read the longest time, in milliseconds."""
    limit = entry.value("threshold")
    if limit is None:
        entry.tell(entry.node, "This evaluator needs `threshold`: the most milliseconds.")
        return None
    return Becomes("latency", {"maxSeconds": _seconds(limit)}, {"maxSeconds": "threshold"})


def cost(entry: EvaluatorEntry) -> Becomes | None:
    """Read the most US dollars."""
    if entry.value("budget") is None:
        entry.tell(entry.node, "This evaluator needs `budget`: the most US dollars.")
        return None
    return renamed(entry, "cost", {"budget": "maxUSD"})


def token_usage(entry: EvaluatorEntry) -> Becomes:
    """Read limits of tokens."""
    keys = {"max_total": "maxTotal", "max_input": "maxInput", "max_output": "maxOutput"}
    camel = {ours: ours for ours in keys.values()}
    return renamed(entry, "tokenUsage", {**camel, **keys})


def execution_metrics(entry: EvaluatorEntry) -> Becomes:
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


def skill_trigger(entry: EvaluatorEntry) -> Becomes:
    """Read which skill is to be taken up, or not."""
    return renamed(entry, "skillTrigger", {"skill": "skill", "should_trigger": "shouldTrigger"})


def _seconds(milliseconds: JsonValue) -> JsonValue:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return milliseconds
    return milliseconds / _THOUSAND


CODE_KEYS = ("script", "command", "cwd", "target")


def code(entry: EvaluatorEntry) -> Becomes | None:
    """Read a program that scores: `code_judge`, `code-grader`."""
    if entry.value("target") is not None:
        said = "A program gets no model of the gate to ask. Use `llm_judge`, and remove `target`."
        entry.tell(entry.node.at("target"), said)
    written = entry.node.first(("command", "script"))
    if written is None:
        entry.tell(entry.node, "This evaluator needs `command`: the program that scores.")
        return None
    command = command_of(entry, written)
    if command is None:
        return None
    options: JsonObject = {"command": command, **where(entry.node)}
    if config := entry.configured(CODE_KEYS):
        options["config"] = config
    if entry.context.newer:
        options["plainText"] = True
    key = str(written.path[-1])
    return Becomes("codeJudge", options, {"command": key, "cwd": "cwd"}, graded=True)


def command_of(entry: EvaluatorEntry, node: Node) -> list[JsonValue] | None:
    """Return the words of a command: a text is a line for the shell, as AgentV has it."""
    if isinstance(node.value, str) and node.value.strip():
        return ["sh", "-c", node.value]
    if isinstance(node.value, list) and node.value:
        return [str(word) if isinstance(word, int | float) else word for word in node.value]
    entry.context.found.problems.append(node.wrong("a command line", "a list of words"))
    return None


def where(node: Node) -> JsonObject:
    """Return the option with the folder in which a program runs, if one is named."""
    cwd = node.at("cwd").value
    return {} if cwd is None else {"cwd": cwd}


LLM_KEYS = ("prompt", "rubrics", "criteria", "model", "target", "max_steps", "temperature")
_RUBRIC_KEYS = (
    "id", "expected_outcome", "outcome", "criteria", "description", "weight", "required",
    "required_min_score", "min_score", "score_ranges", "operator",
)  # fmt: skip
_TEXTS = ("expected_outcome", "outcome", "criteria", "description")
_PATH = re.compile(r"(?:file://)?\S*(?:/\S*|\.(?:md|txt|prompt|j2|hbs|ya?ml))")
_TEN = 10
_LONGEST_PATH = 500
_REFUSED = {
    "max_steps": "The judge has no tools of its own here. Remove `max_steps`.",
    "target": "All judges of a suite are one model here: the `judge_target` (or `grader_target`) "
    "of the target. Name it there, and remove `target`.",
}


def llm(entry: EvaluatorEntry) -> Becomes | None:
    """Read a judge that is asked by a prompt, by rubrics, or about the expected outcome."""
    _refuse_tools(entry)
    if entry.value("rubrics") is not None:
        return rubric(entry)
    prompt = entry.node.at("prompt")
    config = entry.configured(LLM_KEYS)
    given: JsonObject = {"config": config} if config else {}
    if isinstance(prompt.value, dict):
        return _from_script(entry, prompt, given)
    if prompt.value is None:
        return Becomes("llmJudge", given, graded=True)
    text = prompt_text(entry, prompt)
    if text is None:
        return None
    return Becomes("llmJudge", {**given, "prompt": text}, {"prompt": "prompt"}, graded=True)


def rubric(entry: EvaluatorEntry) -> Becomes | None:
    """Read a list of checks under `rubrics` or `criteria`."""
    _refuse_tools(entry)
    written = entry.node.first(("rubrics", "criteria"))
    if written is None or not isinstance(written.value, list):
        entry.tell(written or entry.node, "A rubric needs a list of checks under `rubrics`.")
        return None
    return items_of(entry, written)


def items_of(entry: EvaluatorEntry, written: Node) -> Becomes:
    """Return the rubric whose checks stand in this list."""
    return rubric_of(entry, [*written.items()], str(written.path[-1]) if written.path else "")


def rubric_of(entry: EvaluatorEntry, checks: Sequence[Node], key: str = "") -> Becomes:
    """Return the rubric of these checks, of which those that are plain texts are required."""
    items = [_item(entry, node) for node in checks]
    return Becomes("rubric", {"items": [*items]}, {"items": key}, graded=True, items=checks)


def _item(entry: EvaluatorEntry, node: Node) -> JsonValue:
    if not isinstance(node.value, dict):
        if not isinstance(node.value, str):
            entry.context.found.problems.append(node.wrong("text", "a check"))
        return {"text": node.value if isinstance(node.value, str) else "-", "required": True}
    entry.context.found.problems += node.slips(_RUBRIC_KEYS)
    text = node.first(_TEXTS)
    item: JsonObject = {"text": text.value if text else ""}
    for key in ("id", "weight", "required", "operator"):
        if node.at(key).value is not None:
            item[key] = node.at(key).value
    if (least := _least_points(entry, node)) is not None:
        item["minPoints"] = least
    ranges = node.at("score_ranges")
    if isinstance(ranges.value, dict) and ranges.value:
        item["ranges"] = ranges.value
    elif isinstance(ranges.value, list) and ranges.value:
        item["ranges"] = [_range(entry, one) for one in ranges.items()]
    elif ranges.value is not None:
        said = "`score_ranges` is a list of ranges, or a mapping from the lowest points of each."
        entry.tell(ranges, said)
    return item


def _least_points(entry: EvaluatorEntry, node: Node) -> JsonValue:
    """Return the points that are needed: `required_min_score`, else ten times `min_score`."""
    points, share = node.at("required_min_score"), node.at("min_score")
    if points.value is not None:
        return points.value
    if share.value is None:
        return None
    if isinstance(share.value, bool) or not isinstance(share.value, int | float):
        entry.context.found.problems.append(share.wrong("a score above 0 up to 1"))
        return None
    return share.value * _TEN


def _range(entry: EvaluatorEntry, node: Node) -> JsonValue:
    entry.context.found.problems += node.slips(("score_range", *_TEXTS))
    bounds, text = node.at("score_range").value, node.first(_TEXTS)
    ends = bounds if isinstance(bounds, list) and len(bounds) == 2 else [None, None]
    return {"low": ends[0], "high": ends[1], "text": text.value if text else ""}


def _refuse_tools(entry: EvaluatorEntry) -> None:
    for key, message in _REFUSED.items():
        if entry.value(key) is not None:
            entry.tell(entry.node.at(key), message)


def prompt_text(entry: EvaluatorEntry, node: Node) -> str | None:
    """Return the text of a prompt: that of a file if it names one, else itself."""
    if not isinstance(node.value, str):
        entry.context.found.problems.append(node.wrong("text", "the path of a file"))
        return None
    written = node.value.strip()
    if not written:
        entry.tell(node, "This prompt is empty. Write what the judge is asked, or remove it.")
        return None
    if len(written) > _LONGEST_PATH or not _PATH.fullmatch(written):
        return node.value
    context = entry.context
    try:
        if is_foreign(written.removeprefix("file://")):
            context.found.own.add(LOCK_PATH)
            return foreign_text(written, context.around)
        path = find(written.removeprefix("file://"), context.folder, context.around)
        text = text_at(path, context.around)
    except NoFile as error:
        entry.tell(node, str(error))
        return None
    context.found.own.add(path)
    if text is None:
        entry.tell(node, f"{show_path(path)} is no text.")
    elif not text.strip():
        entry.tell(node, f"{show_path(path)} is empty. Write what the judge is asked.")
        return None
    return text


def _from_script(entry: EvaluatorEntry, prompt: Node, given: JsonObject) -> Becomes | None:
    command = command_of(entry, prompt.first(("command", "script")) or prompt)
    if command is None:
        return None
    config = prompt.at("config").value
    both = {**(config if isinstance(config, dict) else {}), **_mapping(given.get("config"))}
    options: JsonObject = {"command": command, "config": both}
    return Becomes("judgeFromScript", options, {"command": "prompt"}, graded=True)


def _mapping(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


_KINDS = "weighted_average, threshold, code_judge or llm_judge"
_KNOWN = frozenset({"weighted-average", "threshold", "code-grader", "llm-grader"})
_MEMBERS = ("assertions", "evaluators", "assert")
_KEYS = ("type", "weights", "threshold", "path", "command", "script", "cwd", "prompt")


def composite(entry: EvaluatorEntry) -> Becomes | None:
    """Read evaluators that make one score."""
    inner = entry.node.first(_MEMBERS)
    if inner is None or not isinstance(inner.value, list) or not inner.value:
        entry.tell(inner or entry.node, "A composite needs a list of `evaluators`.")
        return None
    entry.context.found.problems += twice(entry.node, (_MEMBERS,))
    aggregator = entry.node.at("aggregator")
    entry.context.found.problems += aggregator.slips(_KEYS)
    kind = aggregator.at("type").value if isinstance(aggregator.value, dict) else None
    known = kind.replace("_", "-").replace("-judge", "-grader") if isinstance(kind, str) else ""
    if known not in _KNOWN:
        unknown = f"Unknown aggregator {quote(kind)}. " if isinstance(kind, str) else ""
        wrong = aggregator.at("type") if unknown else aggregator
        entry.tell(wrong, f"{unknown}The aggregator of a composite is of type {_KINDS}.")
        return None
    named = [part for part in inner.items() if isinstance(part.value, str)]
    _tell_named(entry, named)
    made = Becomes("composite", parts=list(inner.items()), graded=True)
    made.weights = _weights(entry, aggregator.at("weights"), made.parts)
    found = _aggregated(entry, aggregator, known, made)
    return None if named else found


def _aggregated(
    entry: EvaluatorEntry, aggregator: Node, known: str, made: Becomes
) -> Becomes | None:
    if known == "threshold":
        return _by_share(entry, aggregator.at("threshold"), made)
    if known == "code-grader":
        return _by_program(entry, aggregator, made)
    return _by_judge(entry, aggregator.at("prompt"), made) if known == "llm-grader" else made


def _tell_named(entry: EvaluatorEntry, members: Sequence[Node]) -> None:
    """Say of each member that is only named that it has to stand there itself."""
    names = [name for one in entry.beside() if isinstance(name := one.at("name").value, str)]
    known = f" Evaluators here are called {one_of(names, last='and')}." if names else ""
    for member in members:
        said = (
            f"A member of a composite is a whole evaluator; {quote(str(member.value))} only names "
            f"one.{known} Write the member itself here, with `name` and `type`."
        )
        entry.tell(member, said)


def _weights(entry: EvaluatorEntry, node: Node, parts: Sequence[Node]) -> dict[str, JsonValue]:
    """Return the weights by name; each has to be that of one member."""
    names = [part.at("name").value for part in parts]
    for number, (part, name) in enumerate(zip(parts, names, strict=True)):
        if isinstance(name, str) and name and name in names[:number]:
            said = f"Two evaluators of this composite have the name {quote(name)}. Change one."
            entry.tell(part.at("name"), said)
    if not isinstance(node.value, dict):
        if node.value is not None:
            entry.context.found.problems.append(node.wrong("a mapping from names to weights"))
        return {}
    for name in node.value:
        if name not in names:
            have = [one for one in names if isinstance(one, str)]
            said = f"No evaluator of this composite has the name {quote(name)}."
            said += f" It has {one_of(have, last='and')}." if have else ""
            entry.tell(node.at(name), said)
        if not is_weight(node.value[name]):
            entry.tell(node.at(name), f"A weight is a number from 0 on, at most {MOST:,}.")
    return {name: given for name, given in node.value.items() if is_weight(given)}


def _by_share(entry: EvaluatorEntry, least: Node, made: Becomes) -> Becomes | None:
    if isinstance(least.value, bool) or not isinstance(least.value, int | float):
        entry.tell(least, "This aggregator needs `threshold`: the share that has to pass.")
        return None
    made.options, made.keys = {"threshold": least.value}, {"threshold": "aggregator"}
    return made


def _by_program(entry: EvaluatorEntry, aggregator: Node, made: Becomes) -> Becomes | None:
    written = aggregator.first(("path", "command", "script"))
    if written is None:
        entry.tell(aggregator, "This aggregator needs `path`: the program that weighs.")
        return None
    command = command_of(entry, written)
    if command is None:
        return None
    made.type, made.options = "compositeScript", {"command": command, **where(aggregator)}
    made.keys = {"command": "aggregator"}
    return made


def _by_judge(entry: EvaluatorEntry, prompt: Node, made: Becomes) -> Becomes | None:
    text = prompt_text(entry, prompt) if prompt.value is not None else ""
    if text is None:
        return None
    made.type, made.options = "compositeJudge", {"prompt": text} if text else {}
    made.keys = {"prompt": "aggregator"}
    return made


_FLAGS = frozenset("ims")


def one(type_: str, *, ignore_case: bool = False) -> Reading:
    """Return how an evaluator is read that looks for one text."""

    def read(entry: EvaluatorEntry) -> Becomes | None:
        if entry.value("value") is None:
            entry.tell(entry.node, "This evaluator needs `value`: what it looks for.")
            return None
        options: JsonObject = {"value": entry.value("value")}
        return Becomes(type_, _with_case(options, ignore_case=ignore_case), {"value": "value"})

    return read


def several(type_: str, *, ignore_case: bool = False) -> Reading:
    """Return how an evaluator is read that looks for all of several texts, or any."""

    def read(entry: EvaluatorEntry) -> Becomes | None:
        values = entry.node.at("value")
        if not isinstance(values.value, list) or not values.value:
            entry.context.found.problems.append(values.wrong("a list of texts"))
            return None
        parts = [
            Becomes("contains", _with_case({"value": text}, ignore_case=ignore_case), {})
            for text in values.value
        ]
        return Becomes(type_, made=parts)

    return read


def regex(entry: EvaluatorEntry) -> Becomes | None:
    """Read a pattern, with JavaScript's flags as far as RE2 has them."""
    flags = entry.value("flags") or ""
    value = entry.node.first(("value", "pattern"))
    if not isinstance(flags, str) or not set(flags.replace("g", "").replace("u", "")) <= _FLAGS:
        entry.tell(entry.node.at("flags"), "The flags of a pattern are i, m and s.")
        return None
    kept = "".join(sorted(set(flags) & _FLAGS))
    pattern: JsonValue = value.value if value else None
    if isinstance(pattern, str) and kept:
        pattern = f"(?{kept}){pattern}"
    options: JsonObject = {"pattern": pattern, "trim": True}
    return Becomes("regex", options, {"pattern": "value"})


def is_json(entry: EvaluatorEntry) -> Becomes:
    """Read that the message is JSON."""
    del entry
    return Becomes("isJson")


def _with_case(options: JsonObject, *, ignore_case: bool) -> JsonObject:
    return {**options, "ignoreCase": True} if ignore_case else options
