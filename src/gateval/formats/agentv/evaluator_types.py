"""Every type of evaluator that AgentV has, and what it becomes here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.paths import show_path
from gateval.domain.strict_json import list_of, object_of
from gateval.domain.text import quote
from gateval.domain.tree import LOCK_PATH
from gateval.formats.agentv.evaluator import COMMON, MOST, Becomes, Context, Reading, is_weight
from gateval.formats.agentv.node import Node, tell_twice
from gateval.formats.agentv.references import NoFile, find, foreign_text, is_foreign, text_at
from gateval.formats.problems import one_of
from gateval.formats.yaml_document import look_up

_CALL = ("tool", "args", "args_match", "max_duration_ms")
_FIELD = ("path", "match", "required", "weight", "tolerance", "relative", "formats")
_OURS: Mapping[JsonValue, str] = {
    "any_order": "anyOrder",
    "in_order": "inOrder",
    "weighted_average": "weightedAverage",
    "all_or_nothing": "allOrNothing",
    "numeric_tolerance": "numericTolerance",
}


def _ours(word: JsonValue) -> JsonValue:
    """Return what a mode, match or aggregation is called here."""
    return _OURS.get(word, word) if isinstance(word, str) else word


def _renamed(
    type_: str, keys: Mapping[str, str], *, needs: str = "", graded: bool = False
) -> Reading:
    """Return how an evaluator is read whose options have other names: theirs → ours.

    `needs` says what it is nothing without: its first key.
    """

    def read(node: Node, _: Context) -> Becomes | None:
        if needs and node.at(next(iter(keys))).value is None:
            node.tell(f"This evaluator needs {needs}.")
            return None
        options: JsonObject = {
            ours: _seconds(value) if ours == "maxSeconds" else value
            for theirs, ours in keys.items()
            if (value := node.at(theirs).value) is not None
        }
        return Becomes(type_, options, {o: theirs for theirs, o in keys.items()}, graded=graded)

    return read


def _seconds(milliseconds: JsonValue) -> JsonValue:
    number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if number else milliseconds  # type: ignore[operator]


def _tool_trajectory(node: Node, context: Context) -> Becomes:
    """Read the tool calls that are expected. Newer suites compare arguments exactly by default."""
    options: JsonObject = {"mode": _ours(node.at("mode").value)}
    if node.at("minimums").value is not None:
        options["minimums"] = node.at("minimums").value
    if node.at("expected").value is not None:
        options["expected"] = [_call(one) for one in node.at("expected").items()]
    usual = "exact" if context.newer else "superset"
    options["argumentsMatch"] = node.at("args_match").value or usual
    keys = {"mode": "mode", "minimums": "minimums", "expected": "expected"}
    return Becomes("toolTrajectory", options, {**keys, "argumentsMatch": "args_match"}, graded=True)


def _call(node: Node) -> JsonValue:
    if not isinstance(node.value, dict):
        return node.value
    node.tell_slips(_CALL)
    call: JsonObject = {"tool": node.at("tool").value}
    arguments, how = node.at("args").value, node.at("args_match").value
    if arguments not in (None, "any"):
        call["arguments"] = arguments
    if how is not None:
        call["argumentsMatch"] = how
    if (seconds := _seconds(node.at("max_duration_ms").value)) is not None:
        call["maxSeconds"] = seconds
    return call


def _field_accuracy(node: Node, _: Context) -> Becomes:
    """Read the fields of the answer that are compared with those expected."""
    fields: list[JsonValue] = []
    for one in node.at("fields").items():
        one.tell_slips(_FIELD)
        field = one.value
        known = isinstance(field, dict) and "match" in field
        fields.append({**field, "match": _ours(field["match"])} if known else field)  # type: ignore[dict-item, index, call-overload]
    options: JsonObject = {"fields": fields}
    if (how := node.at("aggregation").value) is not None:
        options["aggregation"] = _ours(how)
    return Becomes("fieldAccuracy", options, {"fields": "fields"}, graded=True)


def _configured(node: Node, known: Iterable[str]) -> JsonObject:
    """Return its `config` and the keys that nobody else knows, which are configuration, too."""
    names = {*COMMON, *known, "config"}
    written = object_of(node.value)
    own: JsonObject = {key: value for key, value in written.items() if key not in names}
    return {**object_of(written, "config"), **own}


_CODE_KEYS = ("script", "command", "cwd", "target")


def _code(node: Node, context: Context) -> Becomes | None:
    """Read a program that scores: `code_judge`, `code-grader`."""
    if node.at("target").value is not None:
        said = "A program gets no model of the gate to ask. Use `llm_judge`, and remove `target`."
        node.at("target").tell(said)
    written = node.first(("command", "script"))
    if written is None:
        node.tell("This evaluator needs `command`: the program that scores.")
        return None
    command = _command_of(written)
    if command is None:
        return None
    options: JsonObject = {"command": command, **_where(node)}
    if config := _configured(node, _CODE_KEYS):
        options["config"] = config
    if context.newer:
        options["plainText"] = True
    key = str(written.path[-1])
    return Becomes("codeJudge", options, {"command": key, "cwd": "cwd"}, graded=True)


def _command_of(node: Node) -> list[JsonValue] | None:
    """Return the words of a command: a text is a line for the shell, as AgentV has it."""
    if isinstance(node.value, str) and node.value.strip():
        return ["sh", "-c", node.value]
    if isinstance(node.value, list) and node.value:
        return [str(word) if isinstance(word, int | float) else word for word in node.value]
    node.tell_sort("a command line", "a list of words")
    return None


def _where(node: Node) -> JsonObject:
    """Return the option with the folder in which a program runs, if one is named."""
    cwd = node.at("cwd").value
    return {} if cwd is None else {"cwd": cwd}


_LLM_KEYS = ("prompt", "rubrics", "criteria", "model", "target", "max_steps", "temperature")
_TEXTS = ("expected_outcome", "outcome", "criteria", "description")
_RUBRIC_KEYS = (
    "id", *_TEXTS, "weight", "required", "required_min_score", "min_score", "score_ranges",
    "operator",
)  # fmt: skip
_PATH = re.compile(r"(?:file://)?\S*(?:/\S*|\.(?:md|txt|prompt|j2|hbs|ya?ml))")
_LONGEST_PATH = 500
_REFUSED = {
    "max_steps": "The judge has no tools of its own here. Remove `max_steps`.",
    "target": "All judges of a suite are one model here: the `judge_target` (or `grader_target`) "
    "of the target. Name it there, and remove `target`.",
}


def _llm(node: Node, context: Context) -> Becomes | None:
    """Read a judge that is asked by a prompt, by rubrics, or about the expected outcome."""
    if node.at("rubrics").value is not None:
        return _rubric(node, context)
    _refuse_tools(node)
    prompt = node.at("prompt")
    config = _configured(node, _LLM_KEYS)
    given: JsonObject = {"config": config} if config else {}
    if prompt.value is None:
        return Becomes("llmJudge", given, graded=True)
    if isinstance(prompt.value, dict):
        command = _command_of(prompt.first(("command", "script")) or prompt)
        if command is None:
            return None
        options: JsonObject = {
            "command": command,
            "config": {**object_of(prompt.at("config").value), **config},
        }
        return Becomes("judgeFromScript", options, {"command": "prompt"}, graded=True)
    text = _prompt_text(prompt, context)
    if text is None:
        return None
    return Becomes("llmJudge", {**given, "prompt": text}, {"prompt": "prompt"}, graded=True)


def _rubric(node: Node, _: Context) -> Becomes | None:
    """Read a list of checks under `rubrics` or `criteria`."""
    _refuse_tools(node)
    written = node.first(("rubrics", "criteria"))
    if written is None or not isinstance(written.value, list):
        (written or node).tell("A rubric needs a list of checks under `rubrics`.")
        return None
    return items_of(written)


def items_of(written: Node) -> Becomes:
    """Return the rubric whose checks stand in this list."""
    return rubric_of([*written.items()], str(written.path[-1]) if written.path else "")


def rubric_of(checks: Sequence[Node], key: str = "") -> Becomes:
    """Return the rubric of these checks, of which those that are plain texts are required."""
    items = [_item(node) for node in checks]
    return Becomes("rubric", {"items": [*items]}, {"items": key}, graded=True, items=checks)


def _item(node: Node) -> JsonValue:
    if not isinstance(node.value, dict):
        if not isinstance(node.value, str):
            node.tell_sort("text", "a check")
        return {"text": node.value if isinstance(node.value, str) else "-", "required": True}
    node.tell_slips(_RUBRIC_KEYS)
    text = node.first(_TEXTS)
    item: JsonObject = {"text": text.value if text else ""}
    for key in ("id", "weight", "required", "operator"):
        if node.at(key).value is not None:
            item[key] = node.at(key).value
    if (least := _least_points(node)) is not None:
        item["minPoints"] = least
    ranges = node.at("score_ranges")
    if isinstance(ranges.value, dict) and ranges.value:
        item["ranges"] = ranges.value
    elif isinstance(ranges.value, list) and ranges.value:
        item["ranges"] = [_range(one) for one in ranges.items()]
    elif ranges.value is not None:
        ranges.tell(
            "`score_ranges` is a list of ranges, or a mapping from the lowest points of each."
        )
    return item


def _least_points(node: Node) -> JsonValue:
    """Return the points that are needed: `required_min_score`, else ten times `min_score`."""
    points, share = node.at("required_min_score").value, node.at("min_score")
    if points is not None or share.value is None:
        return points
    if isinstance(share.value, int | float) and not isinstance(share.value, bool):
        return share.value * 10
    share.tell_sort("a score above 0 up to 1")
    return None


def _range(node: Node) -> JsonValue:
    node.tell_slips(("score_range", *_TEXTS))
    bounds, text = node.at("score_range").value, node.first(_TEXTS)
    low, high = bounds if isinstance(bounds, list) and len(bounds) == 2 else (None, None)
    return {"low": low, "high": high, "text": text.value if text else ""}


def _refuse_tools(node: Node) -> None:
    for key, message in _REFUSED.items():
        if node.at(key).value is not None:
            node.at(key).tell(message)


def _prompt_text(node: Node, context: Context) -> str | None:
    """Return the text of a prompt: that of a file if it names one, else itself."""
    if not isinstance(node.value, str):
        node.tell_sort("text", "the path of a file")
        return None
    written = node.value.strip()
    if not written:
        node.tell("This prompt is empty. Write what the judge is asked, or remove it.")
        return None
    if len(written) > _LONGEST_PATH or not _PATH.fullmatch(written):
        return node.value
    found = context.found
    try:
        if is_foreign(written.removeprefix("file://")):
            found.own.add(LOCK_PATH)
            return foreign_text(written, found.around)
        path = find(written.removeprefix("file://"), context.folder, found.around)
        text = text_at(path, found.around)
    except NoFile as error:
        node.tell(str(error))
        return None
    found.own.add(path)
    if text is None:
        node.tell(f"{show_path(path)} is no text.")
    elif not text.strip():
        node.tell(f"{show_path(path)} is empty. Write what the judge is asked.")
        return None
    return text


_KINDS = "weighted_average, threshold, code_judge or llm_judge"
_KNOWN = frozenset({"weighted-average", "threshold", "code-grader", "llm-grader"})
_MEMBERS = ("assertions", "evaluators", "assert")
_KEYS = ("type", "weights", "threshold", "path", "command", "script", "cwd", "prompt")


def _composite(node: Node, context: Context) -> Becomes | None:
    """Read evaluators that make one score."""
    inner = node.first(_MEMBERS)
    if inner is None or not isinstance(inner.value, list) or not inner.value:
        (inner or node).tell("A composite needs a list of `evaluators`.")
        return None
    tell_twice(node, (_MEMBERS,))
    aggregator = node.at("aggregator")
    aggregator.tell_slips(_KEYS)
    kind = aggregator.at("type").value
    known = kind.replace("_", "-").replace("-judge", "-grader") if isinstance(kind, str) else ""
    if known not in _KNOWN:
        unknown = f"Unknown aggregator {quote(kind)}. " if isinstance(kind, str) else ""
        wrong = aggregator.at("type") if unknown else aggregator
        wrong.tell(f"{unknown}The aggregator of a composite is of type {_KINDS}.")
        return None
    parts = list(inner.items())
    named = [part for part in parts if isinstance(part.value, str)]
    _tell_named(node, named)
    made = Becomes("composite", parts=parts, graded=True)
    made.weights = _weights(aggregator.at("weights"), parts)
    sound = known == "weighted-average" or _aggregated(aggregator, known, made, context)
    return made if sound and not named else None


def _tell_named(node: Node, members: Sequence[Node]) -> None:
    """Say of each member that is only named that it has to stand there itself."""
    beside: JsonValue = node.document.data
    for step in node.path[:-1]:
        beside = look_up(beside, step)[1]
    listed = [object_of(one).get("name") for one in list_of(beside)]
    names = [name for name in listed if isinstance(name, str)]
    known = f" Evaluators here are called {one_of(names, last='and')}." if names else ""
    for member in members:
        member.tell(
            f"A member of a composite is a whole evaluator; {quote(str(member.value))} only names "
            f"one.{known} Write the member itself here, with `name` and `type`."
        )


def _weights(node: Node, parts: Sequence[Node]) -> dict[str, JsonValue]:
    """Return the weights by name; each has to be that of one member."""
    names = [part.at("name").value for part in parts]
    for number, (part, name) in enumerate(zip(parts, names, strict=True)):
        if isinstance(name, str) and name and name in names[:number]:
            said = f"Two evaluators of this composite have the name {quote(name)}. Change one."
            part.at("name").tell(said)
    if not isinstance(node.value, dict):
        if node.value is not None:
            node.tell_sort("a mapping from names to weights")
        return {}
    for name in node.value:
        if name not in names:
            have = [one for one in names if isinstance(one, str)]
            said = f"No evaluator of this composite has the name {quote(name)}."
            node.at(name).tell(said + (f" It has {one_of(have, last='and')}." if have else ""))
        if not is_weight(node.value[name]):
            node.at(name).tell(f"A weight is a number from 0 on, at most {MOST:,}.")
    return {name: given for name, given in node.value.items() if is_weight(given)}


def _aggregated(aggregator: Node, known: str, made: Becomes, context: Context) -> bool:
    """Put into a composite how its parts are put together; whether that can be told."""
    if known == "threshold":
        least = aggregator.at("threshold")
        if isinstance(least.value, bool) or not isinstance(least.value, int | float):
            least.tell("This aggregator needs `threshold`: the share that has to pass.")
            return False
        made.options, made.keys = {"threshold": least.value}, {"threshold": "aggregator"}
    elif known == "code-grader":
        written = aggregator.first(("path", "command", "script"))
        if written is None:
            aggregator.tell("This aggregator needs `path`: the program that weighs.")
            return False
        command = _command_of(written)
        made.type, made.options = "compositeScript", {"command": command, **_where(aggregator)}
        made.keys = {"command": "aggregator"}
        return command is not None
    else:
        prompt = aggregator.at("prompt")
        text = _prompt_text(prompt, context) if prompt.value is not None else ""
        made.type, made.options = "compositeJudge", {"prompt": text} if text else {}
        made.keys = {"prompt": "aggregator"}
        return text is not None
    return True


def _one(type_: str, **options: JsonValue) -> Reading:
    """Return how an evaluator is read that looks for one text."""

    def read(node: Node, _: Context) -> Becomes | None:
        if (value := node.at("value").value) is None:
            node.tell("This evaluator needs `value`: what it looks for.")
            return None
        return Becomes(type_, {"value": value, **options}, {"value": "value"})

    return read


def _several(type_: str, **options: JsonValue) -> Reading:
    """Return how an evaluator is read that looks for all of several texts, or any."""

    def read(node: Node, _: Context) -> Becomes | None:
        values = node.at("value")
        if not isinstance(values.value, list) or not values.value:
            values.tell_sort("a list of texts")
            return None
        parts = [Becomes("contains", {"value": text, **options}, {}) for text in values.value]
        return Becomes(type_, made=parts)

    return read


_FLAGS = frozenset("ims")


def _regex(node: Node, _: Context) -> Becomes | None:
    """Read a pattern, with JavaScript's flags as far as RE2 has them."""
    flags = node.at("flags").value or ""
    value = node.first(("value", "pattern"))
    if not isinstance(flags, str) or not set(flags) - {"g", "u"} <= _FLAGS:
        node.at("flags").tell("The flags of a pattern are i, m and s.")
        return None
    kept = "".join(sorted(set(flags) & _FLAGS))
    pattern: JsonValue = value.value if value else None
    if isinstance(pattern, str) and kept:
        pattern = f"(?{kept}){pattern}"
    return Becomes("regex", {"pattern": pattern, "trim": True}, {"pattern": "value"})


class EvaluatorType(NamedTuple):
    """How a type of evaluator is read, and the keys that it has beside the common ones."""

    read: Reading
    keys: tuple[str, ...] = ("value",)


_TOKENS = {"max_total": "maxTotal", "max_input": "maxInput", "max_output": "maxOutput"}
_TOKEN_KEYS = {**{ours: ours for ours in _TOKENS.values()}, **_TOKENS}
_METRICS = {
    "max_cost_usd": "maxUSD",
    "max_tool_calls": "maxToolCalls",
    "max_llm_calls": "maxLlmCalls",
    "max_tokens": "maxTokens",
    "target_exploration_ratio": "targetExplorationRatio",
    "exploration_tolerance": "explorationTolerance",
    "max_duration_ms": "maxSeconds",
}
_SKILL = {"skill": "skill", "should_trigger": "shouldTrigger"}
_LATENCY = "`threshold`: the most milliseconds"
_COST = "`budget`: the most US dollars"

TYPES: Mapping[str, EvaluatorType] = {
    "llm-grader": EvaluatorType(_llm, _LLM_KEYS),
    "rubrics": EvaluatorType(_rubric, _LLM_KEYS),
    "rubric": EvaluatorType(_rubric, _LLM_KEYS),
    "code-grader": EvaluatorType(_code, _CODE_KEYS),
    "composite": EvaluatorType(_composite, (*_MEMBERS, "aggregator")),
    "tool-trajectory": EvaluatorType(
        _tool_trajectory, ("mode", "minimums", "expected", "args_match")
    ),
    "field-accuracy": EvaluatorType(_field_accuracy, ("fields", "aggregation")),
    "latency": EvaluatorType(
        _renamed("latency", {"threshold": "maxSeconds"}, needs=_LATENCY), ("threshold",)
    ),
    "cost": EvaluatorType(_renamed("cost", {"budget": "maxUSD"}, needs=_COST), ("budget",)),
    "token-usage": EvaluatorType(_renamed("tokenUsage", _TOKEN_KEYS), tuple(_TOKEN_KEYS)),
    "execution-metrics": EvaluatorType(
        _renamed("executionMetrics", _METRICS, graded=True), tuple(_METRICS)
    ),
    "skill-trigger": EvaluatorType(_renamed("skillTrigger", _SKILL), tuple(_SKILL)),
    "contains": EvaluatorType(_one("contains")),
    "icontains": EvaluatorType(_one("contains", ignoreCase=True)),
    "contains-any": EvaluatorType(_several("any")),
    "contains-all": EvaluatorType(_several("all")),
    "icontains-any": EvaluatorType(_several("any", ignoreCase=True)),
    "icontains-all": EvaluatorType(_several("all", ignoreCase=True)),
    "starts-with": EvaluatorType(_one("startsWith")),
    "ends-with": EvaluatorType(_one("endsWith")),
    "equals": EvaluatorType(_one("equals")),
    "regex": EvaluatorType(_regex, ("value", "pattern", "flags")),
    "is-json": EvaluatorType(lambda _node, _context: Becomes("isJson")),
}

NAMES = (
    *TYPES, *(name.replace("-", "_") for name in TYPES if "-" in name),
    "llm_judge", "code_judge", "llm-judge", "code-judge",
)  # fmt: skip
"""Every spelling of them."""


def normal(kind: str) -> str:
    """Return a type as the table has it: `llm_judge` and `llm-judge` are `llm-grader`."""
    return kind.strip().lower().replace("_", "-").replace("-judge", "-grader")
