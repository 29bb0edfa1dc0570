"""The gateway's inner function: a neutral request in, a neutral reply out, from any provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Self

from gateval.domain.manifests.evaluation import SCRIPTED_PROVIDER, ScriptedModel
from gateval.domain.manifests.gate_config import ModelPrice, ProviderRate
from gateval.domain.text import beginning, quote
from gateval.domain.trials.model_call import (
    Caller,
    InputKind,
    InputReply,
    InputRequest,
    ModelReply,
    ModelRequest,
)
from gateval.domain.trials.trial import Side
from gateval.gateway import scripted
from gateval.gateway.ledger import Ledger, Pricing, SpendingLimits
from gateval.gateway.peers import Allowed
from gateval.gateway.rehearsal import Rehearsal
from gateval.gateway.scripted import answer
from gateval.gateway.upstream.endpoints import (
    PROVIDERS,
    Upstream,
    has_no_address,
    missing_keys,
    port_of,
)
from gateval.gateway.upstream.http_client import HttpClient, Timeouts, leads_here, pins_of
from gateval.gateway.upstream.retry import (
    Retrier,
    RetryPolicy,
    Tries,
    sentence,
    status_error,
    unreadable,
)
from gateval.gateway.upstream.sender import Sender, scrubber_for
from gateval.ports.model_calls import ModelCallError, ModelCallFault, Prices
from gateval.wire.base import WireError
from gateval.wire.registry import INPUT_FORMATS, WIRE_FORMATS

if TYPE_CHECKING:
    from gateval.gateway.upstream.recorded import Tape

_NO_SUCH_MODEL = 404
_NO_SUCH_ACCOUNT = frozenset({400, 401, 429})
"""The key is unknown, or the account behind it has nothing left."""

Scripts = Mapping[Side, Mapping[str, ScriptedModel]]
"""The scripted models of each side, by name."""


class Gateway:
    """Fulfils `ports.model_calls.ModelCalls`. Use it as an async context; calls may overlap.

    The gate's own calls, the judge's above all, have a pool of connections of their own, which no
    candidate can fill: `own`. Those send by `for_candidates`. `scrubber` knows all keys. `ca_file`
    holds authorities to trust besides the machine's, in PEM. `wall_clock` gives Unix time, for
    `Retry-After` as a date. `prices` say what calls cost; without them nobody knows. `own_prices`
    are those of the policy, which count before; `rates` what it declares providers to allow. All
    calls together keep within `limits`: `ledger` is their account. `allowed` says who may answer on
    this machine, None where no candidate runs beside this; `ports_here` are then those of providers
    that are to answer there. `outage_seconds` is after how long a model is given up. Calls
    are recorded on `tape`, or replayed from it.
    """

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        scripts: Scripts,
        *,
        prices: Prices | None = None,
        own_prices: Mapping[str, ModelPrice] | None = None,
        rates: Mapping[str, ProviderRate] | None = None,
        limits: SpendingLimits | None = None,
        policy: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        ca_file: str = "",
        wall_clock: Callable[[], float] = time.time,
        allowed: Allowed | None = None,
        rehearsal: Rehearsal | None = None,
        tape: Tape | None = None,
    ) -> None:
        self.rehearsal = rehearsal
        self._upstreams = upstreams
        self._scripts = scripts
        self._unknown: dict[str, ModelCallError] = {}
        self._usable: set[str] = set()
        self._stack = AsyncExitStack()
        self.ports_here: frozenset[int] = frozenset()
        self.pricing = Pricing(prices, own_prices)
        timeouts = timeouts or Timeouts()
        self.ledger = Ledger(
            limits or SpendingLimits(), self.pricing, longest_wait=timeouts.attempt
        )
        self.scrubber = scrubber_for(upstreams)
        policy = policy or RetryPolicy()
        self.outage_seconds = policy.outage_seconds
        allowed_rates = rates or {}
        self._persist = persist = {
            name: Retrier(policy, allowed_rates.get(name)) for name in upstreams
        }
        self._allowed = allowed
        self._offline = tape is not None and tape.offline
        self._pins: dict[tuple[str, int], tuple[str, ...]] = {}
        self._clients = [
            HttpClient(timeouts, ca_file, pins=self._pins, allowed=allowed) for _ in range(2)
        ]
        sender: Callable[..., Sender] = Sender
        if tape is not None:
            from gateval.gateway.upstream.recorded import RecordingSender  # few runs need it

            sender = partial(RecordingSender, tape=tape)
        self.own, self.for_candidates = (
            sender(self.scrubber, persist, client, self.ledger, wall_clock=wall_clock)
            for client in self._clients
        )

    async def __aenter__(self) -> Self:
        if self._allowed is not None:
            asked = [  # the proxy's name is resolved, where there is one
                one.proxy.get_secret_value() if one.proxy else one.base_url
                for one in self._upstreams.values()
                if one.key is not None or PROVIDERS[one.provider].key_optional
            ]
            self._pins.update(await pins_of(asked))
            named = {port for _, port in self._pins}
            self.ports_here = frozenset(named | {port_of(one) for one in asked if leads_here(one)})
        for client in () if self._offline else self._clients:
            await self._stack.enter_async_context(client)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def silent(self) -> Mapping[str, float]:
        """The models that answer no call, each with for how many seconds."""
        return {
            f"{provider}/{model}": seconds
            for provider, retrier in self._persist.items()
            for model, seconds in retrier.silent.items()
        }

    def gave_up(self, model: str) -> str:
        """Return why `model` (`provider/model-id`) is not asked any more, as a sentence: it has
        answered nothing for too long. Empty where it is asked.
        """
        provider, _, model_id = model.partition("/")
        why = self._persist[provider].gave_up(model_id) if provider in self._persist else ""
        return sentence(f"{provider} {why}".replace("this model", model_id)) if why else ""

    async def call(self, model: str, request: ModelRequest, *, side: Side) -> ModelReply:
        """Ask `model`; see `ports.model_calls.ModelCalls`.

        A key or a model that a provider does not know, and a certificate that we do not trust, are
        found by the first call: what came of it stands for all that follow.
        """
        provider = model.partition("/")[0]
        known = self._unknown.get(provider) or self._unknown.get(model)
        if known is not None:
            raise ModelCallError(known.fault, known.message, status=known.status)
        try:
            return await self.ask(model, request, side=side, sender=self.own)
        except ModelCallError as error:
            denied = error.fault is ModelCallFault.DENIED and error.status in _NO_SUCH_ACCOUNT
            if error.status == _NO_SUCH_MODEL:
                self._unknown[model] = error
            elif provider != SCRIPTED_PROVIDER and (
                denied or error.fault is ModelCallFault.UNCONFIGURED
            ):
                self._unknown[provider] = error
            raise

    async def ask(
        self,
        model: str,
        request: ModelRequest,
        *,
        side: Side,
        sender: Sender,
        tries: Tries | None = None,
    ) -> ModelReply:
        """Ask `model` over the connections of `sender`, and count in `tries`; else like `call`."""
        tries = tries or Tries(caller=request.caller)
        tries.most = request.max_tokens
        try:
            reply = await self._ask(model, request, side, sender, tries)
        except ModelCallError as error:
            error.cost = tries.cost
            raise
        finally:
            tries.over()
        usage = self.pricing.usage(model, reply.usage, answered=reply.model, tier=reply.tier)
        return reply.replace(**tries.cost._asdict(), usage=usage)

    def upstream(self, model: str) -> Upstream:
        """Return where `model` is asked. Raises `ModelCallError` if nothing is set up for it."""
        if model not in self._usable:
            missing = missing_keys([model], self._upstreams)
            if missing:
                nowhere = has_no_address(model, self._upstreams)
                fault = ModelCallFault.REJECTED if nowhere else ModelCallFault.UNCONFIGURED
                raise ModelCallError(fault, missing[0])
            self._usable.add(model)
        return self._upstreams[model.partition("/")[0]]

    def script(self, name: str, side: Side) -> ScriptedModel:
        """Return a scripted model. Raises `ModelCallError` if there is none by that name."""
        script = self._scripts.get(side, {}).get(name)
        if script is None:
            message = (
                f"No Agent of this run names {SCRIPTED_PROVIDER}/{name} on {side}. Add it to "
                "spec.models of the Agent that asks for it."
            )
            raise ModelCallError(ModelCallFault.UNCONFIGURED, message)
        return script

    async def _ask(
        self, model: str, request: ModelRequest, side: Side, sender: Sender, tries: Tries
    ) -> ModelReply:
        provider, _, model_id = model.partition("/")
        if provider == SCRIPTED_PROVIDER:
            return await self._ask_script(model_id, request, side, tries)
        upstream = self.upstream(model)
        wire = WIRE_FORMATS[upstream.wires[0]]
        try:
            if request.model != model_id:
                request = request.replace(model=model_id)
            body = wire.encode_request(request)
        except WireError as error:
            message = sentence(f"The request cannot be sent to {provider}: {error}")
            raise ModelCallError(ModelCallFault.REJECTED, message)
        got = await sender.exchange(upstream, upstream.wires[0], model_id, body, tries)
        if got.reply is None:
            raise status_error(provider, got.status, wire.decode_error(got.body))
        reply = got.reply
        return reply if reply.model else reply.replace(model=model_id)

    async def _ask_script(
        self, name: str, request: ModelRequest, side: Side, tries: Tries
    ) -> ModelReply:
        script = self.script(name, side)
        size = sum(len(message.text) for message in request.messages)
        entry = await self.ledger.enter(f"{SCRIPTED_PROVIDER}/{name}", size, tries.most)
        tries.entry = entry
        found = answer(script, name, request)
        if found is None:
            entry.refused()
            last = request.messages[-1] if request.messages else None
            end = f"the {last.role} message {quote(beginning(last.text))}" if last else "no message"
            message = f"{script.path} has no rule for this conversation, which ends in {end}."
            raise ModelCallError(ModelCallFault.UNCONFIGURED, message)
        await asyncio.sleep(found.seconds)
        entry.answered(found.reply)
        return found.reply


async def embed(
    gateway: Gateway,
    model: str,
    texts: tuple[str, ...],
    *,
    side: Side,
    caller: Caller | None = None,
) -> InputReply:
    """Return a vector for each of the texts, for the gate itself. Raises `ModelCallError`."""
    request = InputRequest(model="", texts=texts)
    kind, tries = InputKind.EMBEDDING, Tries(most=0, caller=caller)
    own = gateway.own
    try:
        return await measure(gateway, model, kind, request, side=side, sender=own, tries=tries)
    finally:
        tries.over()


async def measure(
    gateway: Gateway,
    model: str,
    kind: InputKind,
    request: InputRequest,
    *,
    side: Side,
    sender: Sender,
    tries: Tries,
) -> InputReply:
    """Have `model` (`provider/model-id`) measure the texts; `request.model` is ignored. `side` says
    whose scripted models answer. Raises `ModelCallError`.
    """
    provider, _, model_id = model.partition("/")
    request = request.replace(model=model_id)
    if provider == SCRIPTED_PROVIDER:
        script = gateway.script(model_id, side)
        if scripted.is_too_much(script, request):
            message = (
                f"{model} gives {scripted.MOST_NUMBERS:,} numbers in one answer "
                f"at most, and {scripted.MOST_DIMENSIONS:,} for one text."
            )
            raise ModelCallError(ModelCallFault.REJECTED, message)
        size = sum(map(len, request.texts))
        tries.entry = await gateway.ledger.enter(model, size, 0)
        found = await asyncio.to_thread(scripted.measure, script, kind, request)
        tries.entry.answered(None, found)
        return found
    upstream = gateway.upstream(model)
    wire = _wire(upstream, kind)
    try:
        body = INPUT_FORMATS[wire].encode_request(request)
    except WireError as error:
        message = sentence(f"The request cannot be sent to {provider}: {error}")
        raise ModelCallError(ModelCallFault.REJECTED, message)
    got = await sender.exchange(upstream, wire, model_id, body, tries)
    if got.measured is None:
        raise status_error(provider, got.status, INPUT_FORMATS[wire].decode_error(got.body))
    if kind is InputKind.EMBEDDING and len(got.measured.vectors) != len(request.texts):
        raise unreadable(provider, "as many embeddings as it was not asked for")
    return got.measured


def _wire(upstream: Upstream, kind: InputKind) -> str:
    """Return the format in which a provider is asked. Raises `ModelCallError` if it has none."""
    known = (wire for wire in upstream.wires if wire in INPUT_FORMATS)
    wire = next((wire for wire in known if INPUT_FORMATS[wire].kind is kind), None)
    if wire is None:
        message = f"{upstream.provider} has no models for {kind.value}."
        raise ModelCallError(ModelCallFault.REJECTED, message)
    return wire
