"""The files through which a step speaks to the GitHub Actions runner."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from gateval.safe.workflow_commands import file_entry

SUMMARY_LIMIT = 1024 * 1024
"""Bytes of a step's summary; the runner drops a larger one as a whole."""

_VARIABLES = {"output": "GITHUB_OUTPUT", "state": "GITHUB_STATE", "summary": "GITHUB_STEP_SUMMARY"}


class RunnerFiles:
    """The runner's files, as the environment names them. Outside of a runner all writing is void.

    Raises OSError when a file that is named cannot be written.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._paths = {
            name: Path(path)
            for name, variable in _VARIABLES.items()
            if (path := environ.get(variable))
        }

    def output(self, name: str, value: str) -> None:
        """Set an output of the step."""
        self._append("output", file_entry(name, value, _token(value)))

    def state(self, name: str, value: str) -> None:
        """Keep a value for the step's post entry, which finds it as `STATE_NAME`."""
        self._append("state", file_entry(name, value, _token(value)))

    def summary(self, markdown: str) -> bool:
        """Add to the step's summary. False, and nothing is written, if it would be too large."""
        path = self._paths.get("summary")
        if path is None:
            return True
        size = path.stat().st_size if path.exists() else 0
        if size + len(markdown.encode()) + 2 > SUMMARY_LIMIT:
            return False
        self._append("summary", f"{markdown.rstrip()}\n\n")
        return True

    def _append(self, name: str, text: str) -> None:
        path = self._paths.get(name)
        if path is None:
            return
        # One write to a file opened for appending: a step that also writes does not cut it up.
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            data = text.encode()
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)


def _token(value: str) -> str:
    """Return a random delimiter that does not occur in the value."""
    while (token := f"gateval_{secrets.token_hex(16)}") in value:
        pass
    return token
