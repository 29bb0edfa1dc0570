"""The demands of a fixture, before and after: whether it is the same test, and what it lowers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import AssertionSpec, Fixture
from gateval.domain.manifests.severity import DEFAULT_WEIGHTS
from gateval.domain.plan.planned_eval import Lowered
from gateval.domain.text.excerpts import excerpts

_NAMING = ("tool", "tools", "value", "pattern", "name")
"""Options that tell one assertion of a type from another, in the order in which they are shown."""


def same_test(before: Fixture, after: Fixture) -> bool:
    """Whether a trial of one is a trial of the other: equal input, assertions and tool answers.

    What describes a fixture (labels, kind, description, origin) and where it stands do not matter.
    """
    return before.digest == after.digest or _test(before) == _test(after)


def lowered_in_fixture(before: Fixture, after: Fixture) -> Iterator[Lowered]:
    """Yield what `after` asks less than `before`, or differently."""
    about = {"fixture": before.name, "family": before.family} if before.family else {}
    for one in _lowered(before, after):
        yield one.model_copy(update=about) if about else one


def _lowered(before: Fixture, after: Fixture) -> Iterator[Lowered]:
    name = before.name
    if DEFAULT_WEIGHTS[after.severity] < DEFAULT_WEIGHTS[before.severity]:
        yield Lowered(
            place=after.place,
            what=f"severity of fixture {name}",
            before=before.severity,
            after=after.severity,
        )
    for key, old, new in (
        ("input", before.input, after.input),
        ("toolReplay", before.tool_replay, after.tool_replay),
        ("shadowTools", before.shadow_tools, after.shadow_tools),
    ):
        if old != new:
            was, now = excerpts(_plain(old), _plain(new))
            yield Lowered(place=after.place, what=f"{key} of fixture {name}", before=was, after=now)
    yield from _assertions(before, after)


def _assertions(before: Fixture, after: Fixture) -> Iterator[Lowered]:
    """Pair the assertions: equal ones first, then the likest of the same type; the rest is gone."""
    old = [one for one in before.assertions if not _taken(one, after.assertions)]
    new = [one for one in after.assertions if not _taken(one, before.assertions)]
    for was in old:
        now = _likest(was, new)
        if now is None:
            yield Lowered(
                place=after.place,
                what=f"assertion {_called(was)} of fixture {before.name} dropped",
            )
            continue
        new.remove(now)
        yield from _changed(was, now, before.name)


def _changed(was: AssertionSpec, now: AssertionSpec, fixture: str) -> Iterator[Lowered]:
    rubric, reworded = was.options.get("rubric"), now.options.get("rubric")
    if rubric != reworded:
        before, after = excerpts(rubric, reworded)
        what = f"rubric of fixture {fixture} reworded"
        yield Lowered(place=now.place, what=what, before=before, after=after)
    old = {key: value for key, value in was.options.items() if key != "rubric"}
    new = {key: value for key, value in now.options.items() if key != "rubric"}
    about = f"assertion {_called(was)} of fixture {fixture}"
    if old != new:
        before, after = excerpts(old, new)
        yield Lowered(place=now.place, what=f"{about} changed", before=before, after=after)
    if was.weight != now.weight:
        yield Lowered(
            place=now.place,
            what=f"weight of {about}",
            before=f"{was.weight:g}",
            after=f"{now.weight:g}",
        )
    if was.severity != now.severity:
        yield Lowered(
            place=now.place,
            what=f"severity of {about}",
            before=was.severity or "the fixture's",
            after=now.severity or "the fixture's",
        )


def _taken(one: AssertionSpec, others: Sequence[AssertionSpec]) -> bool:
    return any(_meaning(one) == _meaning(other) for other in others)


def _likest(was: AssertionSpec, candidates: Sequence[AssertionSpec]) -> AssertionSpec | None:
    """Return the assertion that `was` has become: of its type, and about the same thing if told."""
    alike = [one for one in candidates if one.type == was.type]
    same = [one for one in alike if _subject(one) == _subject(was)]
    if same:
        return same[0]
    return alike[0] if alike and len(candidates) == len(alike) == 1 else None


def _called(assertion: AssertionSpec) -> str:
    subject = _subject(assertion)
    return f"{assertion.type} {subject}" if subject else assertion.type


def _subject(assertion: AssertionSpec) -> str:
    for key in _NAMING:
        if key in assertion.options:
            value = assertion.options[key]
            return value if isinstance(value, str) else canonical_json(value)
    return ""


def _meaning(assertion: AssertionSpec) -> str:
    return canonical_json(assertion.model_dump(mode="json", exclude={"place", "needs_judge"}))


def _test(fixture: Fixture) -> tuple[object, ...]:
    return (
        canonical_json(fixture.input.model_dump(mode="json")),
        tuple(sorted(map(_meaning, fixture.assertions))),
        fixture.severity,
        canonical_json([one.model_dump(mode="json") for one in fixture.tool_replay]),
        fixture.shadow_tools,
    )


def _plain(value: object) -> JsonValue:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_defaults=True) if dump else str(value)
