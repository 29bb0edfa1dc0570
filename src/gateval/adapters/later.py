"""Modules that a library imports and does not need for us: they load when somebody looks in."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType


class _Finder:
    """Finds some modules as Python's own finder does, and has them load at the first look."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module is loaded, None for others; see `importlib.abc.MetaPathFinder`."""
        spec = PathFinder.find_spec(name, path, target) if name in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


@contextmanager
def loaded_later(*names: str) -> Iterator[None]:
    """Have modules of these names that the body imports load when an attribute is asked for."""
    finder = _Finder(frozenset(names))
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
