"""The presets by name. A preset's module is imported when it is first asked for."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, Final

from gateval.domain.paths import nearest

if TYPE_CHECKING:
    from gateval.judging.presets.base import Preset

PRESETS: Final = {
    "relevance": "relevance",
    "completeness": "completeness",
    "faithfulness": "faithfulness",
    "factuality": "factuality",
    "answerRelevancy": "answer_relevancy",
    "toxicity": "toxicity",
    "security": "security",
    "compliance": "compliance",
    "fairness": "fairness",
    "transparency": "transparency",
    "tone": "tone",
}
"""By the word in YAML: the module."""


def preset(written: str) -> Preset:
    """Return the preset of this name, which may end in `@VERSION`.

    Raises `ValueError` with a sentence for one that is not there, or has another version.
    """
    name, _, version = written.partition("@")
    if name not in PRESETS:
        raise ValueError(
            f'There is no preset "{name[:80]}".{nearest(name, list(PRESETS))} '
            f"Known: {', '.join(PRESETS)}."
        )
    found = _loaded(PRESETS[name])
    if version and version != str(found.version):
        raise ValueError(
            f'The preset "{name}" has version {found.version} here, not {version[:20]}. Look at '
            f"what changed with `gateval calibrate --preset {name}`, then write "
            f"`{name}@{found.version}`."
        )
    return found


@functools.cache
def _loaded(module: str) -> Preset:
    found: Preset = import_module(f"gateval.judging.presets.{module}").PRESET
    return found
