"""Imports what a run will need while git is waited for and manifests are read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

EVALUATION = "gateval.app.run.evaluate"


@contextlib.contextmanager
def importing(module: str) -> Iterator[None]:
    """Import `module` in a thread beside the body, and wait for it at the body's end.

    A module that needs it imports it again, which then costs nothing. An error of the
    import is raised there, too, so it is not raised here.
    """
    with ThreadPoolExecutor(1) as aside:
        aside.submit(import_module, module)
        yield
