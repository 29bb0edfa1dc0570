"""What ends a trial whose agent has its tools from a server that fails."""

from __future__ import annotations

from gateval.domain.trials.trial import NoAnswer


class ServerFault(Exception):
    """A server did not do its part: `silence` is why the trial has no answer."""

    def __init__(self, silence: NoAnswer) -> None:
        super().__init__(silence.reason)
        self.silence = silence
