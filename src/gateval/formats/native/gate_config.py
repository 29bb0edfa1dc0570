"""Reads the gate config."""

from __future__ import annotations

from collections.abc import Mapping

from gateval.domain.manifests.policy.gate_config import GateConfig
from gateval.domain.repository.place import Place, Problem
from gateval.formats.native.single import read_single
from gateval.formats.yaml.reader import read_documents


def read_gate_config(path: str, data: bytes) -> tuple[GateConfig | None, tuple[Problem, ...]]:
    """Return the gate config, or None and everything that is wrong. Empty means the defaults."""
    return read_single(path, data, GateConfig)


def gate_config_places(path: str, data: bytes) -> Mapping[str, Place]:
    """Return where the keys of a gate config stand, by written path: `policy.bypass.roles`."""
    documents, _ = read_documents(path, data)
    places = documents[0].key_places((), depth=3) if documents else {}
    return {where.removeprefix("."): place for where, place in places.items()}
