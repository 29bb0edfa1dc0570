"""The page of the set-ups that `gateval init` writes, from what it knows of package managers."""

from __future__ import annotations

import json
from collections.abc import Iterable

from gateval.domain.setup.program import SetUp
from gateval.domain.setup.program_install import NODE, PYTHON

_INTRODUCTION = """\
# Set-ups

What `gateval init` writes as `setup` of an Agent beside these files, the first that is there.
[Dependencies](../guides/dependencies.md) says how they work, in workspaces too.

| file | `setup` |
|---|---|
"""


def page() -> str:
    """Return `docs/reference/setups.md`."""
    known = {**PYTHON, **NODE}
    return _INTRODUCTION + "".join(
        f"| `{name}` | `{_flow(one)}` |\n" for name, one in known.items()
    )


def _flow(one: SetUp) -> str:
    run, inputs, creates = map(_list, (one.run, one.inputs, one.creates))
    return f"{{run: {run}, inputs: {inputs}, creates: {creates}}}"


def _list(words: Iterable[str]) -> str:
    shown = (json.dumps(one) if " " in one or "*" in one else one for one in words)
    return f"[{', '.join(shown)}]"
