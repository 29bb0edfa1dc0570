"""The page about the action names every input, output and event, and no others."""

from __future__ import annotations

import re

import pytest

from gateval.domain.trigger import EventName
from gateval.formats.action_inputs import NAMES
from gateval.formats.github_event import PULL_REQUEST_TYPES
from tests.helpers.command import ROOT

PAGE = (ROOT / "docs/reference/action.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[str]:
    """The names in the first column of the table below a heading."""
    table = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for cell in first for name in re.findall(r"`([a-z_-]+)`", cell)]


def test_inputs() -> None:
    assert sorted(rows("Inputs")) == sorted(NAMES)


def test_outputs() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    outputs = action.partition("\noutputs:\n")[2].partition("\nruns:\n")[0]
    assert sorted(rows("Outputs")) == sorted(re.findall(r"^  ([a-z-]+):$", outputs, re.MULTILINE))


@pytest.mark.parametrize("event", list(EventName))
def test_events(event: EventName) -> None:
    assert event.value in rows("Events")


def test_types_of_pull_request() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `pull_request`:"))
    assert row.split("|")[1].partition(": ")[2].strip() == ", ".join(PULL_REQUEST_TYPES)
