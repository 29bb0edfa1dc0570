"""One candidate's access to models: a throw-away key, the models it may mean, and its trace."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gateval.domain.trace import Trace
from gateval.domain.trial import Cause, Side
from gateval.gateway.trace_recorder import TraceRecorder
from gateval.ports import ModelCallError, ModelTrouble
from gateval.wire.registry import WIRE_FORMATS


class Session:
    """Made by `GatewayServer.open`. After `close` its key is refused.

    Attributes: `side` says whose scripted models answer, `models` is the Agent's list
    (`provider/model-id`), `key` is the throw-away key, `recorder` collects the trace.
    """

    def __init__(
        self,
        side: Side,
        models: tuple[str, ...],
        *,
        address: str,
        on_close: Callable[[Session], None],
    ) -> None:
        self.side = side
        self.models = models
        self.key = f"gateval-{secrets.token_urlsafe(32)}"
        self.recorder = TraceRecorder()
        self._address = address
        self._on_close = on_close
        self._running: dict[asyncio.Task[Any], float] = {}
        self._trouble: ModelTrouble | None = None
        self._cut = 0.0

    def environment(self) -> dict[str, str]:
        """Return the environment variables that make the official SDKs come to us."""
        openai, anthropic = (WIRE_FORMATS[name] for name in ("openai-chat", "anthropic-messages"))
        return {
            "OPENAI_BASE_URL": self._address + openai.base_path,
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self._address + anthropic.base_path,
            "ANTHROPIC_API_KEY": self.key,
        }

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Note the current task as a call that `close` has to end."""
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
        `limit` (seconds) until the candidate was gone. Ask before `close`.
        """
        now = time.monotonic()
        if max(self._cut, *(now - began for began in self._running.values()), 0) > limit / 2:
            return ModelTrouble(Cause.PROVIDER, "A model did not answer in time.")
        return self._trouble

    def close(self) -> Trace | None:
        """Refuse the key from now on, end calls under way, and return the trace.

        None means that no model was called. A second call returns the same trace.
        """
        self._on_close(self)
        for task in self._running:
            task.cancel()
        return self.recorder.trace()
