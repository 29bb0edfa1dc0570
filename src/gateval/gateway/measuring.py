"""Texts measured by any model, through the neutral form: embeddings, moderation."""

from __future__ import annotations

import asyncio

from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.trials.input_call import InputKind, InputReply, InputRequest
from gateval.domain.trials.trial import Side
from gateval.gateway import scripted_inputs
from gateval.gateway.door import Gateway
from gateval.gateway.upstream.endpoints import Upstream
from gateval.gateway.upstream.faults import sentence, status_error, unreadable
from gateval.gateway.upstream.sender import Sender
from gateval.gateway.upstream.tries import Tries
from gateval.ports.model_calls import ModelCallError, ModelCallFault
from gateval.wire.base import WireError
from gateval.wire.registry import INPUT_FORMATS


async def embed(gateway: Gateway, model: str, texts: tuple[str, ...], *, side: Side) -> InputReply:
    """Return a vector for each of the texts, for the gate itself. Raises `ModelCallError`."""
    request = InputRequest(model="", texts=texts)
    kind, tries = InputKind.EMBEDDING, Tries(most=0)
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
    """Have `model` (`provider/model-id`) measure the texts; `request.model` is ignored.

    `side` says whose scripted models answer. Raises `ModelCallError`.
    """
    provider, _, model_id = model.partition("/")
    request = request.model_copy(update={"model": model_id})
    if provider == SCRIPTED_PROVIDER:
        script = gateway.script(model_id, side)
        if scripted_inputs.is_too_much(script, request):
            message = (
                f"{model} gives {scripted_inputs.MOST_NUMBERS:,} numbers in one answer "
                f"at most, and {scripted_inputs.MOST_DIMENSIONS:,} for one text."
            )
            raise ModelCallError(ModelCallFault.REJECTED, message)
        size = sum(map(len, request.texts))
        tries.entry = await gateway.ledger.enter(model, size, 0)
        found = await asyncio.to_thread(scripted_inputs.measure, script, kind, request)
        tries.entry.measured(found.usage, model)
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
