"""Evaluators that are made of others: `composite`, with its aggregators."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from gateval.domain.text.quoting import quote
from gateval.formats.agentv.evaluators.common import MOST, is_weight
from gateval.formats.agentv.evaluators.entry import Becomes, Entry
from gateval.formats.agentv.evaluators.judged import prompt_text
from gateval.formats.agentv.evaluators.programs import command_of, where
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.spellings import twice
from gateval.formats.problems.wording import one_of

_KINDS = "weighted_average, threshold, code_judge or llm_judge"
_KNOWN = frozenset({"weighted-average", "threshold", "code-grader", "llm-grader"})
_MEMBERS = ("assertions", "evaluators", "assert")
_KEYS = ("type", "weights", "threshold", "path", "command", "script", "cwd", "prompt")


def composite(entry: Entry) -> Becomes | None:
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


def _aggregated(entry: Entry, aggregator: Node, known: str, made: Becomes) -> Becomes | None:
    if known == "threshold":
        return _by_share(entry, aggregator.at("threshold"), made)
    if known == "code-grader":
        return _by_program(entry, aggregator, made)
    return _by_judge(entry, aggregator.at("prompt"), made) if known == "llm-grader" else made


def _tell_named(entry: Entry, members: Sequence[Node]) -> None:
    """Say of each member that is only named that it has to stand there itself."""
    names = [name for one in entry.beside() if isinstance(name := one.at("name").value, str)]
    known = f" Evaluators here are called {one_of(names, last='and')}." if names else ""
    for member in members:
        said = (
            f"A member of a composite is a whole evaluator; {quote(str(member.value))} only names "
            f"one.{known} Write the member itself here, with `name` and `type`."
        )
        entry.tell(member, said)


def _weights(entry: Entry, node: Node, parts: Sequence[Node]) -> dict[str, JsonValue]:
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


def _by_share(entry: Entry, least: Node, made: Becomes) -> Becomes | None:
    if isinstance(least.value, bool) or not isinstance(least.value, int | float):
        entry.tell(least, "This aggregator needs `threshold`: the share that has to pass.")
        return None
    made.options, made.keys = {"threshold": least.value}, {"threshold": "aggregator"}
    return made


def _by_program(entry: Entry, aggregator: Node, made: Becomes) -> Becomes | None:
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


def _by_judge(entry: Entry, prompt: Node, made: Becomes) -> Becomes | None:
    text = prompt_text(entry, prompt) if prompt.value is not None else ""
    if text is None:
        return None
    made.type, made.options = "compositeJudge", {"prompt": text} if text else {}
    made.keys = {"prompt": "aggregator"}
    return made
