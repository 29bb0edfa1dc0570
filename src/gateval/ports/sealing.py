"""Opens what is sealed, and seals: a key is needed for the one, names of readers for the other."""

from __future__ import annotations

from collections.abc import Callable

Unseal = Callable[[bytes], bytes]
"""Gives what a sealed file holds. Raises `CannotOpen`."""


class CannotOpen(Exception):
    """A sealed file cannot be opened with the keys that are here; the text is a sentence."""
