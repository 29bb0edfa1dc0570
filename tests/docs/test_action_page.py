"""README and the page about the action name every input, output and event, and no others."""

from __future__ import annotations

import re

import pytest
import yaml

from gateval.domain.forge.trigger import EventName
from gateval.formats.github.action_inputs import NAMES, ActionInputs, read_inputs
from gateval.formats.github.event import PULL_REQUEST_TYPES
from tests.helpers.command import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
NAMES_OF_PAGES = ("action-inputs.md", "action.md")
PAGE = "".join((ROOT / "docs/reference" / name).read_text("utf-8") for name in NAMES_OF_PAGES)


def rows(heading: str) -> list[str]:
    """The names in the first column of the table below a heading."""
    table = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    first = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for cell in first for name in re.findall(r"`([a-z_-]+)`", cell)]


def test_inputs() -> None:
    assert sorted(rows("Inputs")) == sorted(NAMES)


def test_outputs() -> None:
    assert sorted(rows("Outputs")) == sorted(ACTION["outputs"])


def test_the_readme_names_the_same() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"inputs are (.+?); its outputs (.+?)\. ", readme, re.DOTALL)
    assert found is not None
    inputs, outputs = found.groups()
    assert re.findall(r"`([^`]+)`", inputs) == list(ACTION["inputs"])
    assert re.findall(r"`([^`]+)`", outputs) == list(ACTION["outputs"])


def test_defaults() -> None:
    """Those of `action.yml` are the code's and the page's; the token's is the runner's."""
    given = {name: one["default"] for name, one in ACTION["inputs"].items() if "default" in one}
    assert given.pop("token") == "${{ github.token }}"
    environ = {f"INPUT_{name.upper()}": value for name, value in given.items()}
    assert read_inputs(environ) == ActionInputs()
    for name, value in given.items():
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        assert row.split("|")[-2].strip() == f"`{value}`"


@pytest.mark.parametrize("event", list(EventName))
def test_events(event: EventName) -> None:
    assert event.value in rows("Events")


def test_types_of_pull_request() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `pull_request`:"))
    assert row.split("|")[1].partition(": ")[2].strip() == ", ".join(PULL_REQUEST_TYPES)
