"""The gateway's inner function: a neutral request in, a neutral reply out, whoever answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Self

from gateval.domain.manifests.scripted import (
    SCRIPTED_PROVIDER,
    ScriptedModel,
)
from gateval.domain.model_call import ModelReply, ModelRequest
from gateval.domain.quoting import quote
from gateval.domain.trial import Side
from gateval.gateway.faults import sentence, status_error, status_text, unreadable
from gateval.gateway.http_client import Answer, HttpClient, Timeouts, Unanswerable
from gateval.gateway.retry import (
    Persistence,
    RetryPolicy,
    Transient,
    asked_wait,
    is_transient,
)
from gateval.gateway.scripted import answer
from gateval.gateway.scrub import scrubber_for
from gateval.gateway.upstream import Upstream, missing_keys
from gateval.ports import ModelCallError, ModelCallFault
from gateval.wire.base import WireError
from gateval.wire.registry import WIRE_FORMATS

Scripts = Mapping[Side, Mapping[str, ScriptedModel]]
"""The scripted models of each side, by name."""


class Gateway:
    """Fulfils `ports.ModelCalls`. Use it as an async context manager; calls may run side by side.

    `wall_clock` gives Unix time, for `Retry-After` as a date.
    """

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        scripts: Scripts,
        *,
        policy: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._upstreams = upstreams
        self._scripts = scripts
        policy = policy or RetryPolicy()
        self._persist = {name: Persistence(policy) for name in upstreams}
        self._client = HttpClient(timeouts or Timeouts())
        self._scrubber = scrubber_for(upstreams)
        self._wall_clock = wall_clock

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._client.__aexit__(kind, error, traceback)

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Ask `model`; see `ports.ModelCalls`."""
        provider, _, model_id = model.partition("/")
        if provider == SCRIPTED_PROVIDER:
            return await self._ask_script(model_id, request, side)
        upstream = self.upstream(model)
        wire = WIRE_FORMATS[upstream.wire]
        try:
            body = wire.encode_request(request.model_copy(update={"model": model_id}))
        except WireError as error:
            message = sentence(f"The request cannot be sent to {provider}: {error}")
            raise ModelCallError(ModelCallFault.REJECTED, message)
        got = await self.exchange(upstream, body)
        if got.status >= 400:
            raise status_error(provider, got.status, wire.decode_error(got.body))
        try:
            reply = wire.decode_reply(got.body)
        except WireError as error:
            raise unreadable(provider, str(error))
        return reply if reply.model else reply.model_copy(update={"model": model_id})

    def upstream(self, model: str) -> Upstream:
        """Return where `model` is asked. Raises `ModelCallError` if nothing is set up for it."""
        missing = missing_keys([model], self._upstreams)
        if missing:
            raise ModelCallError(ModelCallFault.UNCONFIGURED, missing[0])
        return self._upstreams[model.partition("/")[0]]

    async def exchange(self, upstream: Upstream, body: bytes) -> Answer:
        """Send bytes in the upstream's wire format and return the answer, without any key in it.

        Its status is 2xx, 4xx, or a 5xx that the provider does not want tried again; of its
        headers none is to be passed on. Retries are made inside. Raises `ModelCallError` for an
        outage, a redirect, or what is no HTTP.
        """
        try:
            persist = self._persist[upstream.provider]
            got = await persist(partial(self._attempt, upstream, body))
        except Transient as error:
            message = sentence(f"{upstream.provider} {error}")
            raise ModelCallError(ModelCallFault.OUTAGE, message, status=error.status)
        except Unanswerable as error:
            message = sentence(f"{upstream.provider} {error}")
            raise ModelCallError(ModelCallFault.UNREADABLE, message)
        if 300 <= got.status < 400:
            raise status_error(upstream.provider, got.status, "")
        return got

    async def _attempt(self, upstream: Upstream, body: bytes) -> Answer:
        wire = WIRE_FORMATS[upstream.wire]
        key = upstream.key.get_secret_value() if upstream.key else None
        got = await self._client.post(
            upstream.base_url + wire.path,
            headers=wire.headers(key),
            body=body,
            proxy=upstream.proxy.get_secret_value() if upstream.proxy else None,
        )
        got = got._replace(body=self._scrubber.body(got.body))
        if is_transient(got.status, got.headers):
            text = status_text(got.status, wire.decode_error(got.body))
            asked = asked_wait(got.headers, now=self._wall_clock())
            raise Transient(text, asked=asked, status=got.status)
        return got

    async def _ask_script(self, name: str, request: ModelRequest, side: Side) -> ModelReply:
        script = self._scripts.get(side, {}).get(name)
        if script is None:
            message = (
                f"No Agent of this run names {SCRIPTED_PROVIDER}/{name} on {side}. Add it to "
                "spec.models of the Agent that asks for it."
            )
            raise ModelCallError(ModelCallFault.UNCONFIGURED, message)
        found = answer(script, name, request)
        if found is None:
            last = request.messages[-1] if request.messages else None
            end = f"the {last.role} message {quote(last.text)}" if last else "no message"
            message = f"{script.path} has no rule for this conversation, which ends in {end}."
            raise ModelCallError(ModelCallFault.UNCONFIGURED, message)
        await asyncio.sleep(found.seconds)
        return found.reply
