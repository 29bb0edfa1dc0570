"""Set-ups that outlive a run: what was made once is there again in the next run."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class KeptLayers(Protocol):
    """Layers by digest. Each has one absolute path, the same in every run."""

    def place(self, digest: str) -> Path | None:
        """Return the folder in which this layer has to be made; nobody else uses it meanwhile.

        None if it cannot be had: then the layer is made elsewhere, and not kept.
        """

    def restore(self, place: Path) -> bool:
        """Put back what was kept for this place. False if there is none that is whole."""

    def keep(self, place: Path) -> None:
        """Keep what lies at this place, if this run may."""
