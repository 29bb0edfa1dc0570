"""The calls of one trial: which are under way, how they went, and the trace of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from gateval.domain.base import JsonObject
from gateval.domain.trials.calls import SAID_LIMIT, CallsMade, RefusedBy
from gateval.domain.trials.model_call import ModelReply, ModelRequest, Usage
from gateval.domain.trials.tools import Replay
from gateval.domain.trials.trace import Trace
from gateval.domain.trials.trial import Cause
from gateval.gateway.ledger import Ledger
from gateval.gateway.local.limits import CallLimits
from gateval.gateway.local.recording.trace_recorder import TraceRecorder
from gateval.gateway.local.stored_replies import StoredReplies
from gateval.gateway.tools.trial import TrialTools
from gateval.gateway.upstream.tries import Tries, Wait, together
from gateval.ports.model_calls import (
    LATE,
    REFUSED,
    ModelCallError,
    ModelCallFault,
    ModelTrouble,
    hangs,
    waited_sentence,
)


class CallTimer:
    """How long one call has waited for a `model` without a sign of it, and how its tries went."""

    def __init__(self) -> None:
        self.model = ""
        self.tries = Tries()
        self._since: float | None = None

    def begin(self) -> None:
        """From now on a model is waited for."""
        self._since = time.monotonic()

    def end(self) -> None:
        """The model said something, or it is the candidate's turn."""
        self._since = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for a model within. A call that is cancelled there has waited until then."""
        self.begin()
        try:
            yield
        except Exception:
            self.end()
            raise
        self.end()

    @property
    def seconds(self) -> float:
        """How long it has been waited for until now."""
        return 0.0 if self._since is None else time.monotonic() - self._since


class TrialCalls:
    """Made by `Session.begin`, and done with at `Session.end`.

    `stored` are the replies that a later request may continue; `draw` names the trial for scripted
    models. `ledger` is the account of the run. `replay` answers for tools.
    """

    def __init__(
        self,
        limits: CallLimits,
        ledger: Ledger,
        *,
        draw: str = "",
        replay: Replay | None = None,
    ) -> None:
        self.draw = draw
        self._ledger = ledger
        self._run_is_over = ""
        self.stored = StoredReplies()
        self._recorder = TraceRecorder()
        self.tools = TrialTools(replay, limits.calls, self._tool_answered)
        self._limits = limits
        self._running: dict[asyncio.Task[Any], CallTimer] = {}
        self._trouble: ModelTrouble | None = None
        self._cut = (0.0, "", "")
        self._given_up = self._cut
        self._waits: list[Wait] = []
        self._calls = self._made = self._refused = 0
        self._inputs = self._talked = self._measured = 0
        self._last = CallsMade()
        self._ids = 0
        self._refusals: set[str] = set()
        self._denied: dict[str, ModelCallError] = {}
        self._tokens = 0

    def made(self, *, measures: bool = False) -> None:
        """Note that the candidate asks a model, by a call that `measures` texts or talks."""
        self._made += 1
        self._inputs += measures

    @property
    def calls(self) -> CallsMade:
        """What became of the calls until now. Who refused them is known where none is open."""
        answered = self._talked + self._measured
        whole = self._made <= answered + self._refused
        return CallsMade(
            made=self._made,
            answered=answered,
            inputs=self._inputs,
            inputs_answered=self._measured,
            refused_by=self._last.refused_by if whole else None,
            status=self._last.status if whole else None,
            said=self._last.said if whole else "",
        )

    def refusal(self) -> str:
        """Count a call, and return why it is not admitted: the empty string if it is."""
        self._run_is_over = self._ledger.ended
        if self._run_is_over:
            return self._run_is_over
        self._calls += 1
        if self._calls > self._limits.calls:
            return f"A trial may make {self._limits.calls} model calls, and this one made them."
        if self._tokens >= self._limits.tokens:
            return f"A trial may use {self._limits.tokens} tokens, and this one used them."
        return ""

    @property
    def asks(self) -> bool:
        """Whether a call is under way."""
        return bool(self._running)

    def next_id(self) -> str:
        """Return an id for a reply of ours, unique in this trial."""
        self._ids += 1
        return f"resp_{self._ids}"

    @contextmanager
    def under_way(self) -> Iterator[CallTimer]:
        """Note the current task as a call that `end` has to cancel; gives its timer."""
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a call runs in a task")
        timer = self._running[task] = CallTimer()
        try:
            yield timer
        except asyncio.CancelledError:
            cut = (timer.seconds, timer.tries.failure, timer.model)
            self._cut, self._given_up = max(self._cut, cut), max(self._given_up, cut)
            raise
        finally:
            timer.tries.over()
            self._running.pop(task, None)
            self._waits += [timer.tries.wait] if timer.tries.wait else []

    def replied(
        self, model: str, request: ModelRequest, reply: ModelReply, *, heard: bool = True
    ) -> None:
        """Record that `model` (`provider/model-id`) answered `request`, which is whole.

        The candidate may have gone before it `heard` a word of that.
        """
        self._talked += heard
        self._used(reply.usage)
        self._recorder.reply(model, request, reply)

    def measured(self, model: str, usage: Usage | None) -> None:
        """Record that `model` measured texts; `usage` is None where that costs no tokens."""
        self._measured += 1
        self._used(usage or Usage())
        self._recorder.measured(model, usage)

    def _used(self, usage: Usage) -> None:
        self._trouble, self._given_up = None, (0.0, "", "")
        self._tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)

    def denied(self, model: str) -> ModelCallError | None:
        """Return how the provider of `model` has refused the key or the account in this trial: it
        is not asked again, however often the candidate tries.
        """
        return self._denied.get(model.partition("/")[0])

    def failed(
        self, request: ModelRequest | None, error: ModelCallError | str, model: str = ""
    ) -> None:
        """Record that a call failed, of `model` if that is known; `request` is None if it could not
        even be read.

        What a provider rejects, or we ourselves (then `error` is our sentence), is the candidate's
        own trouble.
        """
        if isinstance(error, str):
            self.turned_away(error)
            self._recorder.error(request, error)
            return
        if error.lasting and model:
            self._denied[model.partition("/")[0]] = error
        if error.fault is ModelCallFault.BUDGET:
            self._run_is_over = error.message
        by = RefusedBy.PROVIDER if error.cause is Cause.CANDIDATE else RefusedBy.OUTAGE
        trouble = ModelTrouble(error.cause, error.message, error.lasting)
        self._note(trouble, by, error.message, error.status)
        self._recorder.error(request, error.message, error.cost)

    def turned_away(self, message: str) -> None:
        """Note our own sentence on a request that was no call of a model, or will not be one."""
        trouble = ModelTrouble(Cause.CANDIDATE, f"{REFUSED} {message}")
        self._note(trouble, RefusedBy.GATEWAY, message)

    def _note(
        self, trouble: ModelTrouble, by: RefusedBy, said: str, status: int | None = None
    ) -> None:
        """Note how a call failed: the latest counts, but as long as none succeeded an outage does.

        Had the provider been there, what the candidate asked instead would not matter.
        """
        self._refused += 1
        down = self._trouble is not None and self._trouble.cause is not Cause.CANDIDATE
        if down and trouble.cause is Cause.CANDIDATE and not self._talked:
            return
        self._trouble = trouble
        words = " ".join(said.split())[:SAID_LIMIT]
        self._last = CallsMade(refused_by=by, status=status, said=words)

    def _tool_answered(
        self, name: str, arguments: JsonObject, text: str, known: Collection[str]
    ) -> None:
        streaming = bool(self._running)
        self._recorder.tool(name, arguments, text, known, streaming=streaming)

    def refused(self, message: str) -> None:
        """Record that we refused a call: once for each reason, however often it is tried."""
        if message in self._refusals:
            self.turned_away(message)
            return
        self._refusals.add(message)
        self.failed(None, message)

    def _waited(self) -> float:
        """Seconds in which calls were waited for that a provider had refused or dropped."""
        running = [timer.tries.wait for timer in self._running.values()]
        return together([*self._waits, *(wait for wait in running if wait)])

    def trouble(self, limit: float, *, late: bool = False) -> ModelTrouble | None:
        """Return why the models were out of reach when the candidate ended, or None.

        That is how the latest call failed, or our sentence if we refused it (the cause of both is
        the candidate where it asked for what is not there), that the run may make no more, or that
        a call waited for more than half of the trial's `limit` (seconds) until the candidate was
        gone, or for less, and longer than its model takes. Ask before `end`. `late` says that the
        candidate's time was over: then it must have had all of it.
        """
        if self._run_is_over:  # others used it up as well
            return ModelTrouble(Cause.GATE, self._run_is_over, lasting=True)
        waits = [(one.seconds, one.tries.failure, one.model) for one in self._running.values()]
        seconds, failure, _ = max([self._cut, *waits])
        if seconds > limit / 2:
            return ModelTrouble(Cause.PROVIDER, f"{LATE} {failure}".rstrip())
        waited = self._waited()
        if late and waited:
            down = (
                self._trouble if self._trouble and self._trouble.cause is Cause.PROVIDER else None
            )
            said = failure or (down.reason if down else "")
            return ModelTrouble(Cause.PROVIDER, f"{said} {waited_sentence(waited)}".lstrip())
        seconds, failure, model = max([self._given_up, *waits])
        if not self._trouble and hangs(seconds, self._ledger.slowest.get(model), late=late):
            return ModelTrouble(Cause.PROVIDER, f"{LATE} {failure}".rstrip(), in_silence=True)
        return self._trouble

    def end(self) -> Trace | None:
        """Cancel the calls under way, and return the trace: None if no model was called."""
        waited = round(self._waited(), 3)
        self.tools.end()
        for task in self._running:
            task.cancel()
        trace = self._recorder.trace()
        return trace.model_copy(update={"waited": waited}) if trace and waited else trace
