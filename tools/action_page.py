"""The page of the action's inputs and outputs, made from `action.yml`."""

from __future__ import annotations

from typing import Any

import yaml

from tools.action_copy import ACTION

_INTRODUCTION = """\
# Inputs and outputs of the action

An unknown input, or a value that cannot be followed, ends the step with status 2. Provider keys
come from the step's `env:`; candidates never see them ([security](../security.md)).
[The action](action.md) says what it does.

## Inputs

| input | meaning | default |
|---|---|---|
"""


def page() -> str:
    """Return `docs/reference/action-inputs.md`."""
    action: dict[str, Any] = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    inputs = [
        f"| `{name}` | {one['description']} | {_default(one)} |"
        for name, one in action["inputs"].items()
    ]
    outputs = [f"| `{name}` | {one['description']} |" for name, one in action["outputs"].items()]
    head = ["", "## Outputs", "", "| output | meaning |", "|---|---|"]
    return _INTRODUCTION + "\n".join([*inputs, *head, *outputs]) + "\n"


def _default(written: dict[str, Any]) -> str:
    return f"`{written['default']}`" if "default" in written else "none"
