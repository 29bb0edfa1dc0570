"""Reads the gate config."""

from __future__ import annotations

from gateval.domain.manifests.gate_config import GateConfig
from gateval.domain.place import Problem
from gateval.formats.single import read_single


def read_gate_config(path: str, data: bytes) -> tuple[GateConfig | None, tuple[Problem, ...]]:
    """Return the gate config, or None and everything that is wrong. Empty means the defaults."""
    return read_single(path, data, GateConfig)
