"""One evaluator as it is written, and what it becomes: a type of ours with its options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json

from gateval.domain.base import JsonObject
from gateval.domain.problems import Problem
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.references import ReferenceFindings
from gateval.formats.base import GatheringContext
from gateval.formats.problems import SchemaFinding, findings
from gateval.formats.yaml_document import look_up

_WORDS = {
    "anyOrder": "any_order",
    "inOrder": "in_order",
    "numericTolerance": "numeric_tolerance",
    "weightedAverage": "weighted_average",
    "allOrNothing": "all_or_nothing",
    "maxSeconds": "max_duration_ms",
    "argumentsMatch": "args_match",
    "minPoints": "required_min_score",
}
"""What our assertions call things, and AgentV's evaluators do."""

_INNER: Mapping[str, tuple[str, ...]] = {
    "ranges": ("score_ranges",),
    "minPoints": ("required_min_score", "min_score"),
    "low": ("score_range",),
    "high": ("score_range",),
    "arguments": ("args",),
    "argumentsMatch": ("args_match",),
    "maxSeconds": ("max_duration_ms",),
}
"""Where a key of ours stands inside an evaluator's entries."""

COMMON = ("name", "type", "weight", "required", "min_score", "negate")
"""The keys that every evaluator has."""


@dataclass(frozen=True)
class Context:
    """Where evaluators stand: the folder of their suite, and whether it has the newer spelling."""

    folder: str
    newer: bool
    around: GatheringContext
    found: ReferenceFindings


@dataclass(frozen=True)
class EvaluatorEntry:
    """An evaluator as written."""

    node: Node
    context: Context

    def value(self, *keys: str) -> JsonValue:
        """Return what stands at the first of these keys that is there."""
        found = self.node.first(keys)
        return found.value if found else None

    def beside(self) -> list[Node]:
        """Return all evaluators of the list that this one stands in."""
        value: JsonValue = self.node.document.data
        for step in self.node.path[:-1]:
            value = look_up(value, step)[1]
        return [*Node(self.node.document, self.node.path[:-1], value).items()]

    def tell(self, node: Node, message: str) -> None:
        """Say what is wrong with a value in it."""
        self.context.found.problems.append(node.problem(message))

    def configured(self, known: Iterable[str]) -> JsonObject:
        """Return its `config` and the keys that nobody else knows, which are configuration, too."""
        names = {*COMMON, *known, "config"}
        written = self.node.value if isinstance(self.node.value, dict) else {}
        given = written.get("config")
        own: JsonObject = {key: value for key, value in written.items() if key not in names}
        return {**(given if isinstance(given, dict) else {}), **own}


@dataclass
class Becomes:
    """What an evaluator becomes. `keys` says where our options stand in its own words, `parts` are
    the evaluators that it is made of, `weights` theirs by name. `items` are the values of which
    the list of our first option was made.
    """

    type: str
    options: JsonObject = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    parts: Sequence[Node] = ()
    made: Sequence[Becomes] = ()
    weights: Mapping[str, JsonValue] = field(default_factory=dict)
    graded: bool = False
    items: Sequence[Node] = ()


Reading: TypeAlias = Callable[[EvaluatorEntry], Becomes | None]
"""Returns what an evaluator becomes; None if that cannot be told, which was said then."""


def renamed(
    entry: EvaluatorEntry, type_: str, keys: Mapping[str, str], *, graded: bool = False
) -> Becomes:
    """Return an evaluator whose options only have other names: theirs → ours."""
    options: JsonObject = {
        ours: value for theirs, ours in keys.items() if (value := entry.value(theirs)) is not None
    }
    return Becomes(type_, options, {ours: theirs for theirs, ours in keys.items()}, graded=graded)


def unusable(model: type[BaseModel], made: Becomes, entry: EvaluatorEntry) -> list[Problem]:
    """Return what is wrong with the options of an evaluator, in its own words and places."""
    try:
        model.model_validate_json(to_json(made.options), strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        found = findings(model, made.options, error.errors(include_url=False), ())
    else:
        return []
    return [_there(entry, made, one) for one in found]


def _there(entry: EvaluatorEntry, made: Becomes, finding: SchemaFinding) -> Problem:
    """Return what is wrong at the nearest place that is written, in the words written there."""
    node, path = entry.node, finding.path
    if made.items and len(path) > 1 and isinstance(path[1], int) and path[1] < len(made.items):
        node, path = made.items[path[1]], path[2:]
    for number, step in enumerate(path):
        first = number == 0 and node is entry.node
        names = (made.keys.get(str(step), step),) if first else (step, *_INNER.get(str(step), ()))
        inner = next((one for name in names if (one := node.at(name)).value is not None), None)
        if inner is None:
            break
        node = inner
    said = finding.message
    for ours, theirs in {**_WORDS, **made.keys}.items():
        said = re.sub(rf"\b{ours}\b", theirs, said)
    return node.problem(f"{said[:1].upper()}{said[1:]}")


MOST = 1_000_000
"""The greatest weight."""


def is_weight(value: JsonValue) -> bool:
    """Whether a value says how much something counts."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


class Common:
    """Reads them; a least score goes to the options of an evaluator that has one."""

    def __init__(
        self, node: Node, made: Becomes, weights: Mapping[str, JsonValue], found: ReferenceFindings
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
        self, node: Node, made: Becomes, value: Mapping[str, JsonValue], found: ReferenceFindings
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
