"""The demands of a fixture, before and after: whether it is the same test, and what it lowers."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from gateval.domain.base import canonical_json
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.sealed import is_sealed
from gateval.domain.manifests.severity import DEFAULT_WEIGHTS
from gateval.domain.plan.bar import Lowered
from gateval.domain.planning.bar.assertions import lowered_assertions
from gateval.domain.text.excerpts import excerpts


def same_test(before: Fixture, after: Fixture) -> bool:
    """Whether a trial of one is a trial of the other: equal input, assertions and tool answers.

    What describes a fixture (labels, kind, description, origin) and where it stands do not matter.
    Of sealed ones only the salted digest counts: whether a plain text is the sealed one is what a
    guess would ask.
    """
    if before.digest == after.digest:
        return True
    if is_sealed(before.path) or is_sealed(after.path):
        return False
    plain = ("input", "turns", "severity", "shadow_tools", "tool_replay")  # what differs here
    if any(getattr(before, key) != getattr(after, key) for key in plain):  # differs as JSON, too
        return False
    if _ground(before) != _ground(after):
        return False
    asked = [one.options for one in after.assertions]
    if any(one.options not in asked for one in before.assertions):  # differs as JSON, too
        return False
    return _test(before) == _test(after)


def lowered_in_fixture(before: Fixture, after: Fixture) -> Iterator[Lowered]:
    """Yield what `after` asks less than `before`, or differently."""
    if is_sealed(before.path) or is_sealed(after.path):
        what = f"what the fixture {before.name} asks, which is sealed"
        yield Lowered(place=after.place, what=what, before="", after="")
        return
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
        ("turns", before.turns, after.turns),
        ("reference", before.reference, after.reference),
        ("playground", before.playground, after.playground),
        ("toolReplay", before.tool_replay, after.tool_replay),
        ("shadowTools", before.shadow_tools, after.shadow_tools),
    ):
        if old != new:
            was, now = excerpts(_plain(old), _plain(new))
            yield Lowered(place=after.place, what=f"{key} of fixture {name}", before=was, after=now)
    if before.playground == after.playground and _ground(before) != _ground(after):
        yield Lowered(place=after.place, what=f"files of the playground of fixture {name} changed")
    yield from lowered_assertions(before, after)


def _ground(fixture: Fixture) -> tuple[object, str]:
    return fixture.playground, fixture.ground.digest if fixture.ground else ""


def _test(fixture: Fixture) -> tuple[object, ...]:
    return (
        canonical_json(fixture.input.model_dump(mode="json")),
        fixture.turns,
        fixture.reference and canonical_json(fixture.reference.model_dump(mode="json")),
        tuple(sorted(canonical_json(one.meaning) for one in fixture.assertions)),
        fixture.severity,
        canonical_json([one.model_dump(mode="json") for one in fixture.tool_replay]),
        fixture.shadow_tools,
    )


def _plain(value: object) -> JsonValue:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_defaults=True) if dump else str(value)
