"""Keeps the records of a remote open for a whole run, so that all that visit it share a folder."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Self

from gateval.ports.records import Records


class RecordsOnce:
    """Opens records when they are first called for; the end of its own context closes them.

    What `opening` raises is raised by each call.
    """

    def __init__(self, opening: Callable[[], AbstractContextManager[Records]]) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self._opened: Records | None = None

    def __call__(self) -> AbstractContextManager[Records]:
        """Return the records as a context of its own, whose end closes nothing."""
        with self._lock:
            if self._opened is None:
                self._opened = self._stack.enter_context(self._opening())
            return contextlib.nullcontext(self._opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
