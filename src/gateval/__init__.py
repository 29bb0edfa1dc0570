"""Gateval: a CI gate for AI agents that live in git.

`docs/architecture.md` tells the way through; `pipeline.py` is the same story in code.
"""

__version__ = "0.1.0"
