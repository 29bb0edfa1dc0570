"""The axes of fixtures: the qualities that their assertions say they measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gateval.domain.manifests.fixture import AssertionSpec, Fixture

DEFAULT_AXIS = "__default__"
"""The axis of assertions that name none."""


def axis_of(spec: AssertionSpec) -> str:
    """Return the axis of an assertion."""
    return spec.axis or DEFAULT_AXIS


def show_axis(axis: str) -> str:
    """Return what people read for an axis: `no axis` for the assertions that name none."""
    return "no axis" if axis == DEFAULT_AXIS else axis


def weighed_axes(fixtures: Iterable[Fixture]) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the fixtures that each axis has a say in, in the order they come."""
    found: dict[str, dict[str, None]] = {}
    for fixture in fixtures:
        for spec in fixture.assertions:
            if spec.weight:
                found.setdefault(axis_of(spec), {})[fixture.name] = None
    return {axis: tuple(names) for axis, names in found.items()}
