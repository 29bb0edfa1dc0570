"""The model calls of one trial: which are under way, how they went, and the trace of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gateval.domain.trace import Trace
from gateval.domain.trial import Cause
from gateval.gateway.trace_recorder import TraceRecorder
from gateval.ports import ModelCallError, ModelTrouble


class TrialCalls:
    """Made by `Session.begin`, and done with at `Session.end`. `recorder` collects the trace."""

    def __init__(self) -> None:
        self.recorder = TraceRecorder()
        self._running: dict[asyncio.Task[Any], float] = {}
        self._trouble: ModelTrouble | None = None
        self._cut = 0.0

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Note the current task as a call that `end` has to cancel."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a call runs in a task")
        began = self._running[task] = time.monotonic()
        try:
            yield
        except asyncio.CancelledError:
            self._cut = max(self._cut, time.monotonic() - began)
            raise
        finally:
            self._running.pop(task, None)

    def went(self, error: ModelCallError | None) -> None:
        """Note how the latest call went. What a provider rejects is the candidate's own trouble."""
        blamed = error is not None and error.cause is not Cause.CANDIDATE
        self._trouble = ModelTrouble(error.cause, error.message) if error and blamed else None

    def trouble(self, limit: float) -> ModelTrouble | None:
        """Return why the models were out of reach when the candidate ended, or None.

        That is how the latest call failed, or that a call waited for more than half of the trial's
        `limit` (seconds) until the candidate was gone. Ask before `end`.
        """
        now = time.monotonic()
        if max(self._cut, *(now - began for began in self._running.values()), 0) > limit / 2:
            return ModelTrouble(Cause.PROVIDER, "A model did not answer in time.")
        return self._trouble

    def end(self) -> Trace | None:
        """Cancel the calls under way, and return the trace: None if no model was called."""
        for task in self._running:
            task.cancel()
        return self.recorder.trace()
