"""The assertions of a fixture, before and after: what is dropped, changed, or let through.

A part of `all` or `not` that is gone asks less, one that is added asks more; for `any` it is the
other way round. Inside a `not` everything is turned round once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.plan.bar import Lowered
from gateval.domain.repository.place import Place
from gateval.domain.text.excerpts import excerpts

_NAMING = ("tool", "tools", "value", "pattern", "name", "command", "function", "to")
"""Options that tell one assertion of a type from another, in the order in which they are shown."""

_ANY, _NOT = "any", "not"


@dataclass(frozen=True)
class _Group:
    """Assertions that stand together: in a fixture, or in a combinator on head.

    `more_asks_less` says that one more of them lets more answers pass, `negated` that they stand in
    a `not`.
    """

    name: str
    place: Place
    more_asks_less: bool = False
    negated: bool = False


def lowered_assertions(before: Fixture, after: Fixture) -> Iterator[Lowered]:
    """Yield what the assertions of `after` ask less than those of `before`, or differently."""
    group = _Group(f"fixture {before.name}", after.place)
    yield from _lowered(before.assertions, after.assertions, group)


def _lowered(
    before: Sequence[AssertionSpec], after: Sequence[AssertionSpec], group: _Group
) -> Iterator[Lowered]:
    """Pair the assertions: equal ones first, then the likest of the same type; the rest is gone."""
    before, after = _worth_a_look(before, after)
    were, are = [*map(_meaning, before)], [*map(_meaning, after)]
    old = [one for one, meant in zip(before, were, strict=True) if meant not in are]
    new = [one for one, meant in zip(after, are, strict=True) if meant not in were]
    for was in old:
        now = _likest(was, new)
        if now is not None:
            new.remove(now)
            yield from _changed(was, now, group)
        elif not group.more_asks_less:
            what = f"assertion {_called(was)} of {group.name} dropped"
            yield Lowered(place=group.place, what=what)
    for added in new if group.more_asks_less else ():
        what = f"assertion {_called(added)} of {group.name} added, so that more passes"
        yield Lowered(place=added.place, what=what)


def _changed(was: AssertionSpec, now: AssertionSpec, group: _Group) -> Iterator[Lowered]:
    rubric, reworded = was.options.get("rubric"), now.options.get("rubric")
    if rubric != reworded:
        before, after = excerpts(rubric, reworded)
        what = f"rubric of {group.name} reworded"
        yield Lowered(place=now.place, what=what, before=before, after=after)
    old = {key: value for key, value in was.options.items() if key != "rubric"}
    new = {key: value for key, value in now.options.items() if key != "rubric"}
    about = f"assertion {_called(was)} of {group.name}"
    if old != new:
        before, after = excerpts(old, new)
        yield Lowered(place=now.place, what=f"{about} changed", before=before, after=after)
    if was.own and now.own and was.own.digest != now.own.digest:
        yield Lowered(place=now.place, what=f"files of {about} changed")
    if was.script and now.script and was.script != now.script:
        yield Lowered(place=now.place, what=f"scripted model of {about} changed")
    for key, one, other in (
        ("weight", was.weight, now.weight),
        ("required", was.required, now.required),
        ("severity", was.severity, now.severity),
    ):
        if one != other:
            what = f"{key} of {about}"
            yield Lowered(place=now.place, what=what, before=_shown(one), after=_shown(other))
    if was.parts or now.parts:
        inside = _Group(
            name=f"`{now.type}` of {group.name}",
            place=now.place,
            more_asks_less=(now.type == _ANY) is not group.negated,
            negated=group.negated is not (now.type == _NOT),
        )
        yield from _lowered(was.parts, now.parts, inside)


def _shown(value: object) -> str:
    """Return the value of a key; an assertion without a severity has that of its fixture."""
    if value is None:
        return "the fixture's"
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def _worth_a_look(
    before: Sequence[AssertionSpec], after: Sequence[AssertionSpec]
) -> tuple[Sequence[AssertionSpec], Sequence[AssertionSpec]]:
    """Return them without those that stand unchanged where they stood and are like no other."""
    if len(before) != len(after):
        return before, after
    pairs = [(was, now, _is_plainly(was, now)) for was, now in zip(before, after, strict=True)]
    types = {one.type for was, now, same in pairs if not same for one in (was, now)}
    left = [(was, now) for was, now, same in pairs if not same or was.type in types]
    return [was for was, _ in left], [now for _, now in left]


def _is_plainly(one: AssertionSpec, other: AssertionSpec) -> bool:
    """Whether two assertions ask the same, as far as a quick look tells."""
    return one is other or (
        not (one.parts or other.parts)
        and (one.type, one.turn, one.weight, one.severity, one.axis)
        == (other.type, other.turn, other.weight, other.severity, other.axis)
        and (one.own, one.script) == (other.own, other.script)
        and repr(one.options) == repr(other.options)  # which tells 1 from true
    )


def _likest(was: AssertionSpec, candidates: Sequence[AssertionSpec]) -> AssertionSpec | None:
    """Return the assertion that `was` has become: of its type, and about the same thing if told.

    Of combinators, the one that has most parts in common.
    """
    alike = [one for one in candidates if (one.type, one.turn) == (was.type, was.turn)]
    if was.parts:
        return max(alike, key=lambda one: _shared(was, one), default=None)
    same = [one for one in alike if _subject(one) == _subject(was)]
    if same:
        return same[0]
    return alike[0] if alike and len(candidates) == len(alike) == 1 else None


def _shared(one: AssertionSpec, other: AssertionSpec) -> int:
    theirs = [*map(_meaning, other.parts)]
    return sum(_meaning(part) in theirs for part in one.parts)


def _called(assertion: AssertionSpec) -> str:
    subject = _subject(assertion)
    called = f"{assertion.type} {subject}" if subject else assertion.type
    return f"{called} in turn {assertion.turn}" if assertion.turn else called


def _subject(assertion: AssertionSpec) -> str:
    for key in _NAMING:
        if key in assertion.options:
            value = assertion.options[key]
            return value if isinstance(value, str) else canonical_json(value)
    return ""


def _meaning(assertion: AssertionSpec) -> str:
    return canonical_json(assertion.meaning)
