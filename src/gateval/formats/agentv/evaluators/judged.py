"""Evaluators that ask a model: `llm_judge` (`llm-grader`), `rubric` and `rubrics`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.sources import LOCK_PATH
from gateval.formats.agentv.evaluators.entry import Becomes, Entry
from gateval.formats.agentv.evaluators.programs import command_of
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.references import NoFile, find, foreign_text, is_foreign, text_at

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


def llm(entry: Entry) -> Becomes | None:
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


def rubric(entry: Entry) -> Becomes | None:
    """Read a list of checks under `rubrics` or `criteria`."""
    _refuse_tools(entry)
    written = entry.node.first(("rubrics", "criteria"))
    if written is None or not isinstance(written.value, list):
        entry.tell(written or entry.node, "A rubric needs a list of checks under `rubrics`.")
        return None
    return items_of(entry, written)


def items_of(entry: Entry, written: Node) -> Becomes:
    """Return the rubric whose checks stand in this list."""
    return rubric_of(entry, [*written.items()], str(written.path[-1]) if written.path else "")


def rubric_of(entry: Entry, checks: Sequence[Node], key: str = "") -> Becomes:
    """Return the rubric of these checks, of which those that are plain texts are required."""
    items = [_item(entry, node) for node in checks]
    return Becomes("rubric", {"items": [*items]}, {"items": key}, graded=True, items=checks)


def _item(entry: Entry, node: Node) -> JsonValue:
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


def _least_points(entry: Entry, node: Node) -> JsonValue:
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


def _range(entry: Entry, node: Node) -> JsonValue:
    entry.context.found.problems += node.slips(("score_range", *_TEXTS))
    bounds, text = node.at("score_range").value, node.first(_TEXTS)
    ends = bounds if isinstance(bounds, list) and len(bounds) == 2 else [None, None]
    return {"low": ends[0], "high": ends[1], "text": text.value if text else ""}


def _refuse_tools(entry: Entry) -> None:
    for key, message in _REFUSED.items():
        if entry.value(key) is not None:
            entry.tell(entry.node.at(key), message)


def prompt_text(entry: Entry, node: Node) -> str | None:
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


def _from_script(entry: Entry, prompt: Node, given: JsonObject) -> Becomes | None:
    command = command_of(entry, prompt.first(("command", "script")) or prompt)
    if command is None:
        return None
    config = prompt.at("config").value
    both = {**(config if isinstance(config, dict) else {}), **_mapping(given.get("config"))}
    options: JsonObject = {"command": command, "config": both}
    return Becomes("judgeFromScript", options, {"command": "prompt"}, graded=True)


def _mapping(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
