"""Lets `make coverage` count processes that get an environment of their own."""

from __future__ import annotations

import os

MEASURED = {name: os.environ[name] for name in ("COVERAGE_PROCESS_CONFIG",) if name in os.environ}
"""The variable with which coverage.py starts in a child process; empty unless it is running."""
