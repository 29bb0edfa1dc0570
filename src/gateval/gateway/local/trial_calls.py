"""The calls of one trial: which are under way, how they went, and how many there may be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import Any

from pydantic import Field

from gateval.domain.base import Value
from gateval.domain.manifests.gate_config import CallFeature, GatewayPolicy
from gateval.domain.trials.model_call import (
    SAID_LIMIT,
    Caller,
    CallsMade,
    Message,
    ModelReply,
    ModelRequest,
    RefusedBy,
    Usage,
)
from gateval.domain.trials.trace import Replay, Trace
from gateval.domain.trials.trial import Cause
from gateval.gateway.ledger import Ledger
from gateval.gateway.local.recording import TraceRecorder, TrialTools
from gateval.gateway.places import Places, placed
from gateval.gateway.upstream.pace import RateLimiter
from gateval.gateway.upstream.retry import Tries, Wait, together
from gateval.ports.model_calls import (
    LATE,
    REFUSED,
    ModelCallError,
    ModelCallFault,
    ModelTrouble,
    hangs,
    waited_sentence,
)
from gateval.wire.base import WireError


class CallLimits(Value):
    """The limits of one trial and of one instance.

    A trial: `calls` admitted, `tokens` used (as providers count them). An instance: `at_once` calls
    answered side by side, `waiting` more that wait for their turn, of bodies over `large_bytes`
    one at a time, `per_second` calls begun in the long run, `burst` of them at once. A body has to
    be here within `body_seconds`. A run: `run_calls` and `run_tokens` of all candidates together.
    A call: `max_tokens` asked for at most, and nothing of `CallFeature` that is not in `allow`.
    """

    calls: int = Field(default=1_000, ge=1)
    tokens: int = Field(default=10_000_000, ge=1)
    at_once: int = Field(default=16, ge=1)
    waiting: int = Field(default=48, ge=0)
    large_bytes: int = Field(default=2 * 1024 * 1024, ge=1)
    per_second: float = Field(default=50, gt=0)
    burst: int = Field(default=100, ge=1)
    body_seconds: float = Field(default=60, gt=0)
    max_tokens: int = Field(default=128_000, ge=1)
    allow: tuple[CallFeature, ...] = ()

    @classmethod
    def under(cls, policy: GatewayPolicy) -> CallLimits:
        """The limits of a run under this policy."""
        return cls(max_tokens=policy.max_tokens, allow=policy.allow)


class CallQueue:
    """The turns of one instance: how many of its calls go on at once, and how fast they begin."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self._at_once = Places(limits.at_once)
        self._large = asyncio.Lock()
        self._pace = RateLimiter(per_second=limits.per_second, burst=limits.burst)
        self._present = 0

    @property
    def is_full(self) -> bool:
        """Whether as many calls as may wait are waiting."""
        return self._present >= self._limits.at_once + self._limits.waiting

    @asynccontextmanager
    async def turn(self, size: int | None) -> AsyncIterator[None]:
        """Wait for a turn and keep it; `size` is that of the body in bytes, None if unknown."""
        # Bodies that may be large wait for each other first, and never hold small ones up.
        is_large = size is None or size > self._limits.large_bytes
        self._present += 1
        try:
            async with self._large if is_large else nullcontext(), placed(self._at_once):
                if seconds := self._pace.wait():
                    await asyncio.sleep(seconds)
                yield
        finally:
            self._present -= 1


class StoredReplies:
    """Remembers the conversations of one trial, each reply with the id of the one that it continues
    and what was said since. Only these may be continued. The provider knows others, of other trials
    and other people.
    """

    def __init__(self) -> None:
        self._replies: dict[str, tuple[str, tuple[Message, ...]]] = {}

    def whole(self, request: ModelRequest) -> ModelRequest:
        """Return `request` with the conversation that it continues. Raises `WireError` if no reply
        of this trial has that id.
        """
        pieces: list[tuple[Message, ...]] = []
        before = request.continues
        while before:
            stored = self._replies.get(before)
            if stored is None:
                raise WireError(
                    f'"{before[:80]}" is no response that was stored in this trial (one with '
                    "`store` set to false is not)"
                )
            before, messages = stored
            pieces.append(messages)
        if not pieces:
            return request
        history = tuple(message for piece in reversed(pieces) for message in piece)
        system = tuple(one for one in request.messages if one.role == "system")
        said = tuple(one for one in request.messages if one.role != "system")
        messages = (*system, *history, *said)
        return request.model_copy(update={"messages": messages, "continues": ""})

    def remember(self, request: ModelRequest, reply: ModelReply) -> None:
        """Keep a reply to `request` (as it came, without what it continues)."""
        if not reply.id or reply.id in self._replies:
            return
        said = Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls)
        asked = (message for message in request.messages if message.role != "system")
        self._replies[reply.id] = (request.continues, (*asked, said))


class CallTimer:
    """How long one call has waited for a `model` without a sign of it, and how its tries went."""

    def __init__(self, caller: Caller | None) -> None:
        self.model = ""
        self.tries = Tries(caller=caller)
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
    models, and `caller` for recordings. `ledger` is the account of the run. `replay` answers for
    tools. `redirected` holds the hosts that calls were meant for which were led here.
    """

    def __init__(
        self,
        limits: CallLimits,
        ledger: Ledger,
        *,
        draw: str = "",
        replay: Replay | None = None,
        caller: Caller | None = None,
    ) -> None:
        self.draw = draw
        self._caller = caller
        self._ledger = ledger
        self._run_is_over = ""
        self.stored = StoredReplies()
        self._recorder = TraceRecorder()
        record = self._recorder.tool
        self.tools = TrialTools(
            replay, limits.calls, lambda *told: record(*told, streaming=self.asks)
        )
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
        self.redirected: dict[str, None] = {}
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
        last = self._last if self._made <= answered + self._refused else CallsMade()
        counted = {"made": self._made, "answered": answered, "inputs": self._inputs}
        return last.model_copy(update={**counted, "inputs_answered": self._measured})

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
        timer = self._running[task] = CallTimer(self._caller)
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
        """Record that `model` (`provider/model-id`) answered `request`, which is whole. The
        candidate may have gone before it `heard` a word of that.
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
        if error.lasting and model and error.fault is not ModelCallFault.GIVEN_UP:
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
            is_down = self._trouble is not None and self._trouble.cause is Cause.PROVIDER
            said = failure or (self._trouble.reason if self._trouble and is_down else "")
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
        seen = {"waited": waited, "redirected": tuple(self.redirected)}
        return trace.model_copy(update=seen) if trace and any(seen.values()) else trace
