"""One evaluator as it is written, and what it becomes: a type of ours with its options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import to_json

from gateval.domain.base import JsonObject
from gateval.domain.problems import Problem
from gateval.domain.strict_json import object_of, string_of
from gateval.formats.agentv.node import Node
from gateval.formats.agentv.references import ReferenceFindings
from gateval.formats.problems import SchemaFinding, findings

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
    found: ReferenceFindings


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


Reading: TypeAlias = Callable[[Node, Context], Becomes | None]
"""Returns what an evaluator becomes; None if that cannot be told, which was said then."""


def unusable(model: type[BaseModel], made: Becomes, node: Node) -> list[Problem]:
    """Return what is wrong with the options of an evaluator, in its own words and places."""
    try:
        model.model_validate_json(to_json(made.options), strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        found = findings(model, made.options, error.errors(include_url=False), ())
        return [_there(node, made, one) for one in found]
    return []


def _there(written: Node, made: Becomes, finding: SchemaFinding) -> Problem:
    """Return what is wrong at the nearest place that is written, in the words written there."""
    node, path = written, finding.path
    if made.items and len(path) > 1 and isinstance(path[1], int) and path[1] < len(made.items):
        node, path = made.items[path[1]], path[2:]
    for number, step in enumerate(path):
        first = number == 0 and node is written
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


def _is_share(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def common_of(node: Node, made: Becomes, weights: Mapping[str, JsonValue]) -> dict[str, object]:
    """Return what every evaluator has, as fields of an assertion; a least score goes to the options
    of an evaluator that has one. `required` may be that, too.
    """
    value = object_of(node.value)
    name = value.get("name")
    name = string_of(name)
    if not isinstance(value.get("negate", False), bool):
        node.at("negate").tell_sort("true", "false")
    weight = weights.get(name, value.get("weight", 1.0))
    if not is_weight(weight):
        node.at("weight").tell(f"A weight is a number from 0 on, at most {MOST:,}.")
        weight = 1.0
    required, least = value.get("required"), value.get("min_score")
    if _is_share(required) and not isinstance(required, bool):
        required, least = True, required if least is None else least
    elif not isinstance(required, bool | None):
        node.at("required").tell("`required` is true, false, or a score above 0 up to 1.")
        required = False
    if least is not None and not _is_share(least):
        node.at("min_score").tell("`min_score` is a score above 0 up to 1.")
    elif least is not None and made.graded:
        made.options = {**made.options, "minScore": least}
    return {"name": name, "weight": float(str(weight)), "required": required is True}
