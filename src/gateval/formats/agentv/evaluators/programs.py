"""Evaluators that run a program, and those that are made of others."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.agentv.evaluators.entry import Becomes, Entry
from gateval.formats.agentv.node import Node

CODE_KEYS = ("script", "command", "cwd", "target")
_AGGREGATORS = "weighted_average, threshold, code_judge or llm_judge"


def code(entry: Entry) -> Becomes | None:
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
    options: JsonObject = {"command": command, **_where(entry.node)}
    if config := entry.configured(CODE_KEYS):
        options["config"] = config
    if entry.context.newer:
        options["plainText"] = True
    key = str(written.path[-1])
    return Becomes("codeJudge", options, {"command": key, "cwd": "cwd"}, graded=True)


def composite(entry: Entry) -> Becomes | None:
    """Read evaluators that make one score."""
    inner = entry.node.first(("assertions", "evaluators", "assert"))
    if inner is None or not isinstance(inner.value, list) or not inner.value:
        entry.tell(inner or entry.node, "A composite needs a list of `evaluators`.")
        return None
    parts = list(inner.items())
    aggregator = entry.node.at("aggregator")
    kind = aggregator.at("type").value if isinstance(aggregator.value, dict) else None
    known = _normal(kind)
    if known is None:
        entry.tell(aggregator, f"The aggregator of a composite is of type {_AGGREGATORS}.")
        return None
    weights = aggregator.at("weights").value
    made = Becomes("composite", {}, {}, parts, graded=True)
    if isinstance(weights, dict):
        made.weights = weights
    if known == "threshold":
        made.options, made.keys = (
            {"threshold": aggregator.at("threshold").value},
            {"threshold": "aggregator"},
        )
    elif known == "code-grader":
        written = aggregator.first(("path", "command", "script"))
        command = command_of(entry, written or aggregator)
        if command is None:
            return None
        made.type, made.options = "compositeScript", {"command": command, **_where(aggregator)}
        made.keys = {"command": "aggregator"}
    elif known == "llm-grader":
        from gateval.formats.agentv.evaluators.judged import prompt_text

        prompt = aggregator.at("prompt")
        text = prompt_text(entry, prompt) if prompt.value is not None else ""
        made.type = "compositeJudge"
        made.options = {"prompt": text} if text else {}
        made.keys = {"prompt": "aggregator"}
    return made


def command_of(entry: Entry, node: Node) -> list[JsonValue] | None:
    """Return the words of a command: a text is a line for the shell, as AgentV has it."""
    if isinstance(node.value, str) and node.value.strip():
        return ["sh", "-c", node.value]
    if isinstance(node.value, list) and node.value:
        return [str(word) if isinstance(word, int | float) else word for word in node.value]
    entry.context.found.problems.append(node.wrong("a command line", "a list of words"))
    return None


def _normal(kind: JsonValue) -> str | None:
    if not isinstance(kind, str):
        return None
    plain = kind.replace("_", "-").replace("-judge", "-grader")
    return (
        plain if plain in {"weighted-average", "threshold", "code-grader", "llm-grader"} else None
    )


def _where(node: Node) -> JsonObject:
    cwd = node.at("cwd").value
    return {} if cwd is None else {"cwd": cwd}
