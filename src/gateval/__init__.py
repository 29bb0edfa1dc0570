"""Gateval: a CI gate for AI agents that live in git.

`docs/architecture.md` tells the way through.
"""

__version__ = "0.1.0"
