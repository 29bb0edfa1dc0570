"""Asks questions in batches: whoever asks waits, up to a day, and pays half.

What is asked is collected until nobody asks any more, goes out as one batch for each model, and is
written down before and after, so that a command which is ended goes on from the same batches. A
question is known again by what it says without its nonce. Where it is not known whether a batch was
taken, nothing is asked: nobody shall pay twice.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple, Protocol, Self

from gateval.domain.base import JsonObject
from gateval.domain.manifests.evaluation import script_name
from gateval.domain.trials.model_call import BatchBook, ModelReply, ModelRequest, SentBatch
from gateval.domain.trials.trial import Side
from gateval.errors import EvaluationError
from gateval.gateway.door import Gateway
from gateval.gateway.ledger import CallEntry
from gateval.gateway.upstream.http_client import HttpClient, ReceivedResponse
from gateval.gateway.upstream.retry import (
    RETRIED_BELOW_500,
    AttemptFailed,
    Transient,
    Unanswerable,
    Unreached,
    is_transient,
    status_error,
)
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.wire.base import WireError, read_object
from gateval.wire.batches import (
    BATCH_FORMATS,
    BatchAnswer,
    BatchFormat,
    BatchLine,
    BatchState,
    BatchUpload,
    batch_id,
)
from gateval.wire.registry import FORMATS, WIRE_FORMATS

MOST = 1_000
"""Requests of one batch, whose answers are read as one of at most `ANSWER_LIMIT`: 20 KiB for each.
OpenAI takes 50,000, Anthropic 100,000."""

QUIET = 0.2
"""Seconds without a further question after which a batch is sent."""

_FIRST_WAIT, _LONGEST_WAIT, _GROWTH = 1.0, 300.0, 1.5
_FAILURES = 10
"""Times in a row that a provider may not tell how a batch stands."""


_AGAIN = "The same command goes on, and pays for nothing twice."


class BatchNotes(Protocol):
    """Where a command keeps its batches."""

    @property
    def shown(self) -> str:
        """What people call the file."""

    def read(self) -> BatchBook:
        """Return what was kept; an empty book where nothing was. Raises `UsageError`."""

    def keep(self, book: BatchBook) -> None:
        """Keep it before anything else is done. Raises `UsageError`."""

    def lost(self, questions: int) -> None:
        """So many more questions got no answer."""


class BatchStopped(EvaluationError):
    """The command ends without an answer to all; it can be given again."""


class _Question(NamedTuple):
    model: str
    line: BatchLine
    entry: CallEntry
    answer: asyncio.Future[ModelReply]


class BatchedCalls:
    """Fulfils `ModelCalls`. Use it as an async context. Scripted models answer at once, as do those
    whose provider takes no batches that we know.

    `notes` keeps what was sent, and `tell` is told in a sentence how batches stand. Where the
    command `goes_on` without an answer, `call` raises no `BatchStopped`, but an outage.
    """

    def __init__(
        self,
        gateway: Gateway,
        client: HttpClient,
        notes: BatchNotes,
        tell: Callable[[str], None],
        *,
        goes_on: bool = False,
    ) -> None:
        self._goes_on = goes_on
        self._gateway, self._client, self._notes, self._tell = gateway, client, notes, tell
        self._book = notes.read()
        self._asked: Counter[str] = Counter()
        self._waiting: list[_Question] = []
        self._came, self._sending = asyncio.Event(), asyncio.Lock()
        self._stack = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        unsure = [one for one in self._book.batches if not one.id]
        if unsure:
            many, model = len(unsure[0].asked), unsure[0].model
            raise BatchStopped(
                f"An earlier command ended while it sent {many} questions to {model}: whether they "
                "were taken, and will be billed, is not known.",
                hint=f"Look at the provider's list of batches, then remove {self._notes.shown} to "
                "ask anew.",
            )
        await self._stack.enter_async_context(self._client)
        self._start(self._send_what_comes())
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._sending:  # what is being sent gets its id
            pass
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    def _start(self, work: Coroutine[None, None, None], asked: Sequence[_Question] = ()) -> None:
        """Have it done; what it raises, those who asked these questions get."""

        def over(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            error = None if task.cancelled() else task.exception()
            for one in asked:
                if error is not None and not one.answer.done():
                    one.answer.set_exception(error)

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(over)

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Ask `model`; see `ports.model_calls.ModelCalls`. Raises `BatchStopped`, too."""
        provider, _, bare = model.partition("/")
        if script_name(model) is not None or provider not in BATCH_FORMATS:
            return await self._gateway.call(model, request, side=side)
        wire = WIRE_FORMATS[BATCH_FORMATS[provider].wire]
        try:
            body = wire.encode_request(request.replace(model=bare))
        except WireError as error:
            message = f"The request cannot be sent to {provider}: {error}."
            raise ModelCallError(ModelCallFault.REJECTED, message)
        name = _name_of(model, body, request)
        self._asked[name] += 1
        line = BatchLine(f"{name}-{self._asked[name]}", read_object(body))
        entry = await self._gateway.ledger.enter(model, len(body), request.max_tokens)
        question = _Question(model, line, entry, asyncio.get_running_loop().create_future())
        self._waiting.append(question)
        self._came.set()
        try:
            reply = await question.answer
        except BaseException as error:
            entry.refused()
            if self._goes_on and isinstance(error, BatchStopped):
                raise ModelCallError(ModelCallFault.OUTAGE, error.sentence) from error
            raise
        entry.answered(reply)
        usage = self._gateway.pricing.usage(
            model, reply.usage, answered=reply.model, tier=reply.tier
        )
        return reply.replace(usage=usage, model=reply.model or bare)

    async def _send_what_comes(self) -> None:
        while True:
            await self._came.wait()
            while self._came.is_set():
                self._came.clear()
                await asyncio.sleep(QUIET)
            came, self._waiting = self._waiting, []
            for model in dict.fromkeys(one.model for one in came):
                mine = [one for one in came if one.model == model]
                for at in range(0, len(mine), MOST):
                    some = mine[at : at + MOST]
                    self._start(self._answer(some), some)

    async def _answer(self, asked: Sequence[_Question]) -> None:
        """Have the questions answered, those of earlier batches by these; all are of one model."""
        by_name = {one.line.custom_id: one for one in asked}
        known = {name: one for one in self._book.batches for name in one.asked}
        fresh = [one.line for one in asked if one.line.custom_id not in known]
        sent = list({known[name].id: known[name] for name in by_name if name in known}.values())
        if fresh:
            sent.append(await self._sent(asked[0].model, fresh))
        await asyncio.gather(*(self._collected(one, by_name) for one in sent))

    async def _sent(self, model: str, lines: Sequence[BatchLine]) -> SentBatch:
        """Send a batch. That one is under way is written down until its id is known."""
        provider = model.partition("/")[0]
        form = BATCH_FORMATS[provider]
        sending = SentBatch(model=model, asked=tuple(one.custom_id for one in lines))
        async with self._sending:
            try:
                file = form.file(lines)
                uploaded = "" if file is None else batch_id(await self._posted(provider, file))
            except (AttemptFailed, WireError) as error:
                raise BatchStopped(f"{provider} took no batch: it {error}.", hint=_AGAIN) from error
            self._keep(*self._book.batches, sending)
            try:
                made = await self._posted(provider, form.create(lines, uploaded))
                sent = sending.replace(id=batch_id(made))
            except (ModelCallError, BatchStopped, Unreached) as error:
                self._keep(*(one for one in self._book.batches if one != sending))
                if isinstance(error, Unreached):
                    raise BatchStopped(f"{provider} {error}.", hint=_AGAIN) from error
                raise
            except (AttemptFailed, WireError) as error:
                raise BatchStopped(
                    f"Whether {provider} took the batch is not known: it {error}.",
                    hint="Look at its list of batches before the command is given again.",
                ) from error
            self._keep(*(sent if one == sending else one for one in self._book.batches))
        self._tell(f"{model}: {len(lines)} questions went out as {sent.id}")
        return sent

    def _keep(self, *batches: SentBatch) -> None:
        self._book = self._book.replace(batches=batches)
        self._notes.keep(self._book)

    async def _posted(self, provider: str, upload: BatchUpload) -> JsonObject:
        """Post, and return the answer. Raises `ModelCallError` for a refusal, `BatchStopped` for
        one that may pass, and `AttemptFailed` or `WireError` where it may have been taken.
        """
        got = await self._exchange(provider, upload.path, upload)
        if 200 <= got.status < 300:
            return read_object(got.body)
        said = FORMATS[BATCH_FORMATS[provider].wire].decode_error(got.body)
        if got.status >= 500:
            raise Transient(f"answered {got.status} ({said})", status=got.status)
        if got.status in RETRIED_BELOW_500:
            why = f"{provider} takes no batch now: it answered {got.status} ({said})."
            raise BatchStopped(why, hint=_AGAIN)
        raise status_error(provider, got.status, said)

    async def _exchange(
        self, provider: str, path: str, upload: BatchUpload | None = None
    ) -> ReceivedResponse:
        upstream = self._gateway.upstream(f"{provider}/any")
        wire = BATCH_FORMATS[provider].wire
        key = upstream.key.get_secret_value() if upstream.key else None
        proxy = upstream.proxy.get_secret_value() if upstream.proxy else None
        url, headers = upstream.address(wire, path, ""), FORMATS[wire].headers(key)
        if upload is None:
            got = await self._client.get(url, headers=headers, proxy=proxy)
        else:
            headers["Content-Type"] = upload.content_type
            got = await self._client.post(url, headers=headers, body=upload.body, proxy=proxy)
        return got._replace(body=self._gateway.scrubber.body(got.body))

    async def _fetched(self, provider: str, path: str) -> bytes:
        """Ask until the provider says something: that costs nothing."""
        wait, said = _FIRST_WAIT, ""
        for _ in range(_FAILURES):
            try:
                got = await self._exchange(provider, path)
            except AttemptFailed as failure:
                said = str(failure)
                if isinstance(failure, Unanswerable):
                    break
            else:
                if 200 <= got.status < 300:
                    return got.body
                said = f"answered {got.status}"
                if not is_transient(got.status, got.headers):
                    raise BatchStopped(
                        f"{provider} does not tell what became of a batch: it {said}.",
                        hint=f"If it has none any more, remove {self._notes.shown}: then all is "
                        "asked, and paid, anew.",
                    )
            await asyncio.sleep(wait)
            wait = min(_GROWTH * wait, _LONGEST_WAIT)
        raise BatchStopped(
            f"{provider} does not tell what became of a batch: it {said}.",
            hint=_AGAIN,
        )

    async def _collected(self, sent: SentBatch, asked: Mapping[str, _Question]) -> None:
        """Wait until a batch has ended, and give each of these questions its answer."""
        provider = sent.model.partition("/")[0]
        form, names = BATCH_FORMATS[provider], set(sent.asked)
        try:
            state = await self._ended(sent, form)
            answers = dict[str, BatchAnswer]()
            for path in state.results:
                for one in form.answers(await self._fetched(provider, path)):
                    twice = one.custom_id in answers
                    answers[one.custom_id] = _twice(one.custom_id) if twice else one
        except WireError as unread:
            raise BatchStopped(f"{provider} told of {sent.id} with {unread}.") from unread
        lost = set[str]()
        for name, question in asked.items():
            if name not in names or question.answer.done():
                continue
            missing = state.why or f"the batch ended without an answer to it ({state.word})"
            found = answers.get(name) or BatchAnswer(name, None, error=missing)
            if found.reply is not None:
                question.answer.set_result(found.reply)
                continue
            lost.add(name)
            fault = ModelCallFault.OUTAGE if found.status is None else ModelCallFault.REJECTED
            message = f"{sent.model} gave no answer: {found.error.rstrip('.')}."
            question.answer.set_exception(ModelCallError(fault, message, status=found.status))
        if lost:
            self._notes.lost(len(lost))
            self._forget(sent, lost)

    def _forget(self, sent: SentBatch, lost: set[str]) -> None:
        """Take questions that got no answer out of the book: the same command asks them again."""
        batches = [
            one.replace(asked=tuple(name for name in one.asked if name not in lost))
            if one.id == sent.id
            else one
            for one in self._book.batches
        ]
        self._keep(*(one for one in batches if one.asked))

    async def _ended(self, sent: SentBatch, form: BatchFormat) -> BatchState:
        provider, wait, told = sent.model.partition("/")[0], _FIRST_WAIT, ""
        while True:
            state = form.state(await self._fetched(provider, form.state_path(sent.id)))
            said = (
                f"{sent.model}: {sent.id} is {state.word}, {state.done} of {len(sent.asked)} done"
            )
            if said != told:
                self._tell(said)
                told = said
            if state.ended:
                return state
            await asyncio.sleep(wait)
            wait = min(_GROWTH * wait, _LONGEST_WAIT)


def _twice(name: str) -> BatchAnswer:
    """What came of a question that was answered twice: nobody knows which answer is right."""
    return BatchAnswer(name, None, error="the batch holds two answers to it")


def _name_of(model: str, body: bytes, request: ModelRequest) -> str:
    """What a question is known by: who asks, and all that it says but for what was drawn for it."""
    text, caller = body, request.caller
    for number, value in enumerate(caller.drawn if caller else ()):
        text = text.replace(value.encode(), f"DRAWN{number}".encode())
    asks = caller.address if caller else ""
    return hashlib.sha256(b"\0".join((model.encode(), asks.encode(), text))).hexdigest()[:40]
