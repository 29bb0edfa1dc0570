"""The kinds of native manifests. A kind's module is imported when a manifest of it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Final

from gateval.formats.native.written import ManifestKind

_MODULES: Final = {
    "Agent": "agent:AGENT",
    "Eval": "evaluation:EVAL",
    "EvalFixture": "fixture:FIXTURE",
    "JudgeCalibration": "calibration:CALIBRATION",
    "Benchmark": "benchmark:BENCHMARK",
    "Experiment": "experiment:EXPERIMENT",
}


class _Kinds(Mapping[str, ManifestKind]):
    def __getitem__(self, name: str) -> ManifestKind:
        return _loaded(_MODULES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)

    def __contains__(self, name: object) -> bool:
        return name in _MODULES


KINDS: Final[Mapping[str, ManifestKind]] = _Kinds()
"""By the word that stands at `kind:`."""


@cache
def _loaded(where: str) -> ManifestKind:
    module, _, name = where.partition(":")
    kind: ManifestKind = getattr(import_module(f"gateval.formats.native.{module}"), name)
    return kind
