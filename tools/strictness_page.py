"""The page of what is stricter, made from the table that decides it."""

from __future__ import annotations

import json

from gateval.domain.manifests.gate_config import GateConfig
from gateval.domain.manifests.strictness import STRICTNESS, leaves, written

_INTRODUCTION = """\
# Which rule is stricter

For each key of the gate config, which of two values asks more. A change that makes a key laxer
[lowers the bar](../guides/protecting-the-bar.md); a repository whose gate config
[extends another](../guides/many-repositories.md) may only be stricter in each of them.

| key | stricter is | default |
|---|---|---|
"""


def page() -> str:
    """Return `docs/reference/strictness.md`."""
    defaults = {written(path): value for path, value in leaves(GateConfig()).items()}
    rows = [
        f"| `{key}` | {direction.words} | {_shown(defaults.get(key))} |"
        for key, direction in STRICTNESS.items()
    ]
    return _INTRODUCTION + "\n".join(rows) + "\n"


def _shown(value: object) -> str:
    if value in (None, "", []):
        return "none"
    words = value if isinstance(value, str) else json.dumps(value).replace('"', "").strip("[]")
    return f"`{words}`"
