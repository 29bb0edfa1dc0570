"""A second implementation of AgentV's scores, for the tests to hold ours against.

It is written from that project's documents alone, in exact fractions, and shares nothing with ours:
plain values in, scores out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

Call = tuple[str, dict[str, Any]]


def mean(pairs: Sequence[tuple[float, float | Fraction]]) -> Fraction:
    """The weighted mean of (weight, score); nothing weighs 0."""
    total = Fraction(0)
    points = Fraction(0)
    for weight, score in pairs:
        total += Fraction(weight)
        points += Fraction(weight) * Fraction(score)
    return points / total if total > 0 else Fraction(0)


def composite(tree: Any) -> Fraction:
    """A tree of numbers (scores) and lists of (weight, tree)."""
    if isinstance(tree, list):
        return mean([(weight, composite(inner)) for weight, inner in tree])
    return Fraction(tree)


def threshold(scores: Sequence[float], least: float) -> Fraction:
    """The share of members whose score is a pass."""
    return Fraction(sum(1 for score in scores if score >= least), len(scores))


def rubric(
    checks: Sequence[Mapping[str, Any]], answers: Mapping[str, bool | int]
) -> tuple[Fraction, bool]:
    """The score of checks and whether one that must hold does not.

    A check: id, weight, required, required_min_score, ranged. Answers: satisfied, or 0 to 10; what
    is not answered is not satisfied.
    """
    ranged = any(check["ranged"] for check in checks)
    pairs, broken = [], False
    for check in checks:
        answer = answers.get(check["id"], 0)
        points = int(answer) if ranged else (10 if answer else 0)
        pairs.append((check["weight"], Fraction(points, 10)))
        gate = check["required_min_score"]
        if gate is None and check["required"]:
            gate = 10
        if gate is not None and points < gate:
            broken = True
    return mean(pairs), broken


def any_order(minimums: Mapping[str, int], calls: Sequence[Call]) -> Fraction:
    """The share of tools that were called often enough."""
    met = 0
    for tool, least in minimums.items():
        if len([1 for name, _ in calls if name == tool]) >= least:
            met += 1
    return Fraction(met, len(minimums))


def partial(expected: dict[str, Any] | None, given: dict[str, Any]) -> bool:
    """Every key that is expected is there, and the same."""
    return expected is None or {**given, **expected} == given


def in_order(
    expected: Sequence[tuple[str, dict[str, Any] | None]], calls: Sequence[Call]
) -> Fraction:
    """A greedy scan: the first call of the same name counts, and uses itself up if it is wrong."""
    rest, hits = list(calls), 0
    for tool, wanted in expected:
        names = [name for name, _ in rest]
        if tool in names:
            at = names.index(tool)
            hits += partial(wanted, rest[at][1])
            rest = rest[at + 1 :]
    return Fraction(hits, len(expected))


def exact(expected: Sequence[tuple[str, dict[str, Any] | None]], calls: Sequence[Call]) -> Fraction:
    """Position by position."""
    hits = 0
    for (tool, wanted), (name, given) in zip(expected, calls, strict=False):
        hits += tool == name and partial(wanted, given)
    return Fraction(hits, len(expected))


def fields(
    wanted: Sequence[Mapping[str, Any]], expected: Mapping[str, Any], given: Mapping[str, Any],
    *, all_or_nothing: bool = False,
) -> Fraction:  # fmt: skip
    """Flat fields by path: match, required, weight, tolerance, relative."""
    pairs: list[tuple[float, Fraction]] = []
    for field in wanted:
        path = field["path"]
        if path not in expected:
            pairs.append((field["weight"], Fraction(1)))
        elif path not in given:
            if field["required"]:
                pairs.append((field["weight"], Fraction(0)))
        else:
            pairs.append((field["weight"], Fraction(_same(field, expected[path], given[path]))))
    if all_or_nothing:
        return Fraction(all(score == 1 for _, score in pairs))
    return mean(pairs)


def _same(field: Mapping[str, Any], one: Any, other: Any) -> bool:
    if field["match"] != "numeric_tolerance":
        return bool(one == other)
    allowed = Fraction(str(field["tolerance"]))
    if field["relative"]:
        allowed *= abs(Fraction(str(one)))
    return abs(Fraction(str(one)) - Fraction(str(other))) <= allowed


def metrics(limits: Mapping[str, float], seen: Mapping[str, float]) -> Fraction:
    """The share of limits that are kept."""
    kept = [seen[name] <= limit for name, limit in limits.items()]
    return Fraction(sum(kept), len(kept))


def case(evaluators: Sequence[tuple[float, Fraction | float, bool]]) -> tuple[Fraction, bool]:
    """The score of a case and whether it passes at 0.8: (weight, score, required) each.

    One that is required and no pass (0.8) fails the case and makes it 0.
    """
    if any(required and score < Fraction(8, 10) for _, score, required in evaluators):
        return Fraction(0), False
    score = mean([(weight, one) for weight, one, _ in evaluators])
    return score, score >= Fraction(8, 10)
