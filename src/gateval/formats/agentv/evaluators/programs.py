"""Evaluators that run a program."""

from __future__ import annotations

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.formats.agentv.evaluators.entry import Becomes, Entry
from gateval.formats.agentv.node import Node

CODE_KEYS = ("script", "command", "cwd", "target")


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
    options: JsonObject = {"command": command, **where(entry.node)}
    if config := entry.configured(CODE_KEYS):
        options["config"] = config
    if entry.context.newer:
        options["plainText"] = True
    key = str(written.path[-1])
    return Becomes("codeJudge", options, {"command": key, "cwd": "cwd"}, graded=True)


def command_of(entry: Entry, node: Node) -> list[JsonValue] | None:
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
