"""Who we are on a forge."""

from __future__ import annotations

from typing import Protocol


class Viewer(Protocol):
    """Who we are on the forge."""

    def viewer(self) -> str:
        """The login under which we write, e.g. `github-actions[bot]`. Asked for once."""
