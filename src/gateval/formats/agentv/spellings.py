"""One thing under several spellings: whoever writes two says one that nobody would look at."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.repository.place import Problem
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.recognition import CASES_KEYS
from gateval.formats.agentv.written import EXPECTED, INPUT, METADATA, OUTCOME

_EVALUATORS = (
    "assertions",
    "assert",
    "evaluators",
    "execution.evaluators",
    "execution.assertions",
)
_TARGETS = ("execution.target", "execution.targets", "target")
_OF_SUITE = (CASES_KEYS, INPUT, _EVALUATORS, _TARGETS)
_OF_CASE = (INPUT, EXPECTED, OUTCOME, METADATA, _EVALUATORS, _TARGETS[:2])
_OF_TURN = (INPUT, EXPECTED, ("assertions", "assert"))
OF_TARGET = (("command", "command_template"), ("grader_target", "judge_target"))


def of_suite(node: Node) -> Iterator[Problem]:
    """Yield what a suite says twice, and differently."""
    return twice(node, _OF_SUITE)


def of_case(node: Node) -> Iterator[Problem]:
    """Yield what a case says twice, and differently; its turns, too."""
    yield from twice(node, _OF_CASE)
    for turn in node.at("turns").items():
        yield from twice(turn, _OF_TURN)


def twice(node: Node, groups: tuple[tuple[str, ...], ...]) -> Iterator[Problem]:
    """Yield a problem for each spelling of a group that says something else than the first."""
    for group in groups:
        written = [(name, one) for name in group if (one := _at(node, name)).value is not None]
        for name, one in written[1:]:
            first, known = written[0]
            if one.value != known.value:
                said = f"`{name}` and `{first}` are one thing here, and they differ. Keep one."
                yield one.problem(said).model_copy(update={"place": one.key_place})


def _at(node: Node, dotted: str) -> Node:
    for step in dotted.split("."):
        node = node.at(step)
    return node
