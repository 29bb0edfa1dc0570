"""Where head first went another way than base, and in how many repetitions of each that was seen.

A step is another one where its kind or its tool is, where a tool gets other arguments or answers
otherwise, or where the user says something else. What varies among base's own repetitions is no
difference. Words of an answer count only where nothing else differs: models never say a thing twice
alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from gateval.domain.base import canonical_json
from gateval.domain.text import excerpts
from gateval.domain.trials.trace import Step, StepKind
from gateval.domain.trials.trial import Trial
from gateval.render.report.evidence import Pair, aligned
from gateval.render.report.facts import FixtureFacts

_TRIED = 8
"""Repetitions of base that are held beside head's to find the nearest."""

_Place: TypeAlias = tuple[object, int]
"""What a step is, and how many such steps there are up to it: the same thing in other traces."""

_DOES = {
    StepKind.USER: "hears the user",
    StepKind.ASSISTANT: "answers in words",
    StepKind.TOOL_CALL: "calls {}",
    StepKind.TOOL_RESULT: "gets a result of {}",
    StepKind.ERROR: "meets an error",
}


class Difference(NamedTuple):
    """The first row of two traces that differs; a side is None that has no step there.

    `said` is the sentence, without how often. `head` and `base` of so many repetitions with a trace
    each do what it says of head or, where head lacks a step, what it says of base.
    """

    head_step: Step | None
    base_step: Step | None
    said: str
    head: tuple[int, int]
    base: tuple[int, int]

    @property
    def tells(self) -> bool:
        """Whether it is more than other words of an answer."""
        worded = self.head_step is not None and self.base_step is not None
        kinds = {one.kind for one in (self.head_step, self.base_step) if one}
        return not (worded and kinds == {StepKind.ASSISTANT})

    def __str__(self) -> str:
        ours, theirs = (f"{seen:,} of {total:,}" for seen, total in (self.head, self.base))
        return f"{self.said}: {ours} on head, {theirs} on base"


def nearest_base(fact: FixtureFacts, head: Trial | None) -> Trial | None:
    """Return base's repetition with which head's has most steps in common: one that passed, if one
    did; None where base has none.
    """
    passed = [one for one in fact.base if one.passed]
    traced = [one for one in passed if _steps(one)]
    found = (traced or passed or fact.base)[:_TRIED]
    if len(found) < 2 or head is None:
        return next(iter(found), None)
    return min(found, key=lambda one: _distance(Pair(head, one)))


def _distance(pair: Pair) -> int:
    return sum(
        3 if _apart(ours, theirs) else _content(ours) != _content(theirs)
        for ours, theirs in pair.rows
    )


def first_difference(fact: FixtureFacts, pair: Pair) -> Difference | None:
    """Return where head first differs from base; None where one has no trace, or nothing does."""
    sides = [[_steps(one) for one in trials if _steps(one)] for trials in (fact.head, fact.base)]
    if not (_steps(pair.head) and _steps(pair.base)):
        return None
    passed = [_steps(one) for one in fact.base if one.passed and _steps(one)] or sides[1]
    worded: tuple[Step, Step] | None = None
    for ours, theirs, mine, other in _placed(pair):
        if ours is None or theirs is None or _apart(ours, theirs):
            return _another_step(pair, (ours, theirs), (mine, other), sides)
        if _content(ours) == _content(theirs):
            continue
        if ours.kind is StepKind.ASSISTANT:
            worded = worded or (ours, theirs)
        elif len({_content(found) for one in passed if (found := _find(one, other))}) < 2:
            return _other_content(ours, theirs, mine, sides)
    if worded is None:
        return None
    return _other_content(*worded, _place_in(_steps(pair.head), worded[0]), sides)


_Sides: TypeAlias = Sequence[Sequence[Sequence[Step]]]
"""The traces of head, and those of base."""


def _another_step(
    pair: Pair,
    row: tuple[Step | None, Step | None],
    places: tuple[_Place, _Place],
    sides: _Sides,
) -> Difference:
    (ours, theirs), (mine, other) = row, places
    head, base = _steps(pair.head), _steps(pair.base)
    if ours is None:
        said = f"Base {_does(theirs)} here, head {_later(head, other)}"
    elif theirs is None:
        said = f"Head {_does(ours)} here, base {_later(base, mine)}"
    else:
        said = f"Head {_does(ours)} where base {_does(theirs)}"
    step, own, place = (ours, head, mine) if ours else (theirs, base, other)
    found = _counted(sides, lambda trace: _find(trace, place) is not None)
    (on_head, heads), (on_base, bases) = found
    if (on_head * bases <= on_base * heads) if ours else (on_base * heads <= on_head * bases):
        before = _before(own, step)  # both do it, each at another point
        found = _counted(sides, lambda trace: _before(trace, _find(trace, place)) == before)
    return Difference(ours, theirs, said, *found)


def _later(trace: Sequence[Step], place: _Place) -> str:
    """Say of the side that lacks a step whether it comes to it at another point."""
    found = _find(trace, place)
    return f"only at step {found.number}" if found else "does not"


def _other_content(ours: Step, theirs: Step, place: _Place, sides: _Sides) -> Difference:
    tool = _tool(ours)
    said = {
        StepKind.TOOL_CALL: f"Head calls {tool} with other arguments than base",
        StepKind.TOOL_RESULT: f"{tool} answers head otherwise than base",
        StepKind.USER: "The user tells head something else than base",
        StepKind.ERROR: "Head meets another error than base",
        StepKind.ASSISTANT: "Head words its answer otherwise than base",
    }[ours.kind]
    if ours.kind is StepKind.TOOL_CALL:
        theirs_told, ours_told = excerpts(theirs.arguments or {}, ours.arguments or {})
        said = f"{said} (`{ours_told}` instead of `{theirs_told}`)"
    content = _content(ours)

    def does(trace: Sequence[Step]) -> bool:
        found = _find(trace, place)
        return found is not None and _content(found) == content

    return Difference(ours, theirs, said, *_counted(sides, does))


def _counted(
    sides: _Sides, does: Callable[[Sequence[Step]], bool]
) -> tuple[tuple[int, int], tuple[int, int]]:
    head, base = ((sum(map(does, traces)), len(traces)) for traces in sides)
    return head, base


def _placed(pair: Pair) -> Iterator[tuple[Step | None, Step | None, _Place, _Place]]:
    """Yield the rows, with the place of each side's step."""
    counts: tuple[Counter[object], Counter[object]] = (Counter(), Counter())
    for row in aligned(_steps(pair.head), _steps(pair.base)):
        places: list[_Place] = []
        for step, seen in zip(row, counts, strict=True):
            meaning = (step.kind, step.tool) if step else None
            seen[meaning] += 1
            places.append((meaning, seen[meaning]))
        yield row[0], row[1], places[0], places[1]


def _find(trace: Sequence[Step], place: _Place) -> Step | None:
    meaning, number = place
    alike = [one for one in trace if (one.kind, one.tool) == meaning]
    return alike[number - 1] if len(alike) >= number else None


def _place_in(trace: Sequence[Step], step: Step) -> _Place:
    meaning = (step.kind, step.tool)
    return meaning, sum((one.kind, one.tool) == meaning for one in trace[: step.number])


def _before(trace: Sequence[Step], step: Step | None) -> object:
    """What comes right before a step; None where the step is not there."""
    if step is None:
        return None
    return [(one.kind, one.tool) for one in trace[: step.number - 1]][-1:]


def _steps(trial: Trial | None) -> Sequence[Step]:
    return trial.trace.steps if trial and trial.trace else ()


def _apart(ours: Step | None, theirs: Step | None) -> bool:
    if ours is None or theirs is None:
        return True
    return (ours.kind, ours.tool) != (theirs.kind, theirs.tool)


def _content(step: Step | None) -> str:
    if step is None:
        return ""
    return canonical_json(step.arguments or {}) if step.kind is StepKind.TOOL_CALL else step.text


def _does(step: Step | None) -> str:
    return _DOES[step.kind].format(_tool(step)) if step else "does nothing"


def _tool(step: Step) -> str:
    return f"`{step.tool or '?'}`"
