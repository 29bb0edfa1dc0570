"""What the runner hears from a run of the action: commands, outputs, state and summary.

Between `stop-commands` and its token nothing that is printed is a command, whatever else failed to
keep a candidate's words out of the log.
"""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator, Mapping

from gateval.adapters.runner_files import RunnerFiles
from gateval.app.action.ending import Ending
from gateval.safe.workflow_commands import (
    error_command,
    mask_commands,
    resume_commands,
    stop_commands,
    warning_command,
)

ON_RUNNER = "GITHUB_ACTIONS"


class Voice:
    """Speaks to the runner; elsewhere, the log is all there is."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._files = RunnerFiles(environ)
        self._heard = environ.get(ON_RUNNER) == "true"

    @contextlib.contextmanager
    def guarded(self, secret: tuple[str, ...]) -> Iterator[None]:
        """Have these secrets hidden, and no commands obeyed, until the block ends."""
        token = secrets.token_hex(16)
        self._command(*mask_commands(secret), stop_commands(token))
        try:
            yield
        finally:
            self._command(resume_commands(token))

    def keep(self, name: str, value: str) -> None:
        """Keep a value for the entry that runs after the job, if the runner can."""
        with contextlib.suppress(OSError):
            self._files.state(name, value)

    def end(self, ending: Ending) -> None:
        """Say how it ended. A summary that is too large or cannot be written is a warning."""
        warnings = list(ending.warnings)
        try:
            for name, value in ending.outputs.items():
                self._files.output(name, value)
            if ending.summary and not self._files.summary(ending.summary):
                warnings.append("The job summary was too large to be written.")
        except OSError as error:
            warnings.append(f"A file of the runner could not be written: {error.strerror}.")
        for warning in warnings:
            self._say(warning_command(warning), f"Warning: {warning}")
        if ending.error is not None:
            self._command(error_command(f"{ending.error.message} {ending.error.hint}".strip()))

    def _say(self, command: str, otherwise: str) -> None:
        if self._heard:
            self._command(command)
        else:
            from gateval.safe.sanitize import plain_line

            print(plain_line(otherwise, 1_000), file=sys.stderr)

    def _command(self, *commands: str) -> None:
        if self._heard:
            sys.stdout.flush()
            for command in commands:
                print(command)
            sys.stdout.flush()
