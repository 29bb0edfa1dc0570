"""How much a YAML file may hold and how deep, counted while it is read."""

from __future__ import annotations

from gateval.formats.yaml.document import Position

DEPTH_LIMIT = 64
"""Mappings and lists inside each other."""

NODE_LIMIT = 100_000
"""Values of one file, every alias counted as everything it stands for."""


class Refused(Exception):
    """The rest of the file cannot be read: a sentence and where it stopped."""

    def __init__(self, message: str, mark: Position) -> None:
        super().__init__(message)
        self.message = message
        self.mark = mark


class YamlBudget:
    """The use so far: `nodes` counts values, `deepest` is the greatest depth seen."""

    def __init__(self) -> None:
        self.nodes = 0
        self.deepest = 0

    def spend(self, nodes: int, mark: Position) -> None:
        """Count values. Raises `Refused` beyond `NODE_LIMIT`."""
        self.nodes += nodes
        if self.nodes > NODE_LIMIT:
            raise Refused(
                f"This file holds more than {NODE_LIMIT:,} values, every alias counted as all that "
                "it stands for. Make it smaller.",
                mark,
            )

    def reach(self, depth: int, mark: Position) -> None:
        """Note a depth, from 1. Raises `Refused` beyond `DEPTH_LIMIT`."""
        self.deepest = max(self.deepest, depth)
        if depth > DEPTH_LIMIT:
            raise Refused(
                f"More than {DEPTH_LIMIT} mappings and lists stand inside each other here.", mark
            )
