"""Ties the registries of assertions and runtimes together for whoever reads manifests."""

from __future__ import annotations

from gateval.assertions.registry import ASSERTIONS, JUDGED
from gateval.candidates.registry import RUNTIMES
from gateval.formats.registries import Registries


def registries() -> Registries:
    """Return every known assertion and runtime."""
    return Registries(
        assertions=ASSERTIONS,
        runtimes={name: runtime.options for name, runtime in RUNTIMES.items()},
        judged=JUDGED,
    )
