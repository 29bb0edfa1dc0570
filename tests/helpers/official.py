"""The official clients, imported when a test first asks for one.

The two take a third of what it takes to collect all tests, which every worker of the suite does.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["anthropic", "openai"]

if TYPE_CHECKING:
    import anthropic
    import openai
else:

    def __getattr__(name: str) -> ModuleType:
        if name not in __all__:
            raise AttributeError(name)
        return importlib.import_module(name)
