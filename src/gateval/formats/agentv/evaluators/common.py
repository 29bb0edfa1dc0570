"""The keys that every evaluator has: its name, how much it counts, and whether it must hold."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from gateval.formats.agentv.evaluators.entry import Becomes
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.surroundings import Findings

MOST = 1_000_000
"""The greatest weight."""


def is_weight(value: JsonValue) -> bool:
    """Whether a value says how much something counts."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


class Common:
    """Reads them; a least score goes to the options of an evaluator that has one."""

    def __init__(
        self, node: Node, made: Becomes, weights: Mapping[str, JsonValue], found: Findings
    ) -> None:
        value = node.value if isinstance(node.value, dict) else {}
        self.name = name if isinstance(name := value.get("name"), str) else ""
        self.required = False
        negated = value.get("negate", False)
        self.negated = negated is True
        if not isinstance(negated, bool):
            found.problems.append(node.at("negate").wrong("true", "false"))
        given = weights.get(self.name, value.get("weight", 1.0))
        wrong = not is_weight(given)
        if wrong:
            said = f"A weight is a number from 0 on, at most {MOST:,}."
            found.problems.append(node.at("weight").problem(said))
        self.weight = 1.0 if wrong else float(str(given))
        self._gate(node, made, value, found)

    def _gate(
        self, node: Node, made: Becomes, value: Mapping[str, JsonValue], found: Findings
    ) -> None:
        """Read `required`, which may be the least score, and `min_score`."""
        required, least = value.get("required"), value.get("min_score")
        if isinstance(required, bool) or required is None:
            self.required = required is True
        elif isinstance(required, int | float) and 0 < required <= 1:
            self.required, least = True, required if least is None else least
        else:
            said = "`required` is true, false, or a score above 0 up to 1."
            found.problems.append(node.at("required").problem(said))
        if least is None:
            return
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 < least <= 1:
            said = "`min_score` is a score above 0 up to 1."
            found.problems.append(node.at("min_score").problem(said))
        elif made.graded:
            made.options = {**made.options, "minScore": least}
