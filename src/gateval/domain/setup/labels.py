"""The gate's labels in a repository: how they look, and the command that makes them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gateval.domain.ruling import GateLabel
from gateval.domain.setup.diagnosis import Health, HealthCheck


class LabelStyle(NamedTuple):
    """The look of a label: `color` as six hexadecimal digits."""

    color: str
    description: str


LABEL_STYLES = {
    GateLabel.BYPASS: LabelStyle("b60205", "Lets this revision through the gate; recorded"),
    GateLabel.ACCEPT_BAR: LabelStyle("d93f0b", "Accepts the lower bar of this revision; recorded"),
}

FIX = "gateval doctor --fix"
"""What makes the labels with a token."""


def making(label: GateLabel, repository: str = "") -> str:
    """Return the command that makes a label; `repository` is OWNER/NAME, empty for this one."""
    look = LABEL_STYLES[label]
    there = f" --repo {repository}" if repository else ""
    return f'gh label create {label}{there} --color {look.color} --description "{look.description}"'


def about_missing(
    missing: Sequence[GateLabel], made: Sequence[GateLabel], name: str
) -> HealthCheck:
    """Say which of the gate's labels the repository `name` lacks; `made` were made just now.

    The gate works without them, so this is no problem; a person who needs one makes it first.
    """
    if missing:
        seen = f"{name} has no label {' and no label '.join(missing)}."
        todo = " && ".join(making(label, name) for label in missing)
        return HealthCheck(Health.OK, "labels", seen, f"Make them with `{FIX}`, or: {todo}")
    new = f" ({' and '.join(made)} made now)" if made else ""
    return HealthCheck(Health.OK, "labels", f"{name} has {' and '.join(LABEL_STYLES)}{new}.")
