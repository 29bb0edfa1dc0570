"""One call of a candidate through the local server: which way it goes, and what is recorded."""

from __future__ import annotations

from typing import NamedTuple

from gateval.domain.base import JsonObject
from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.model_call import ModelReply, ModelRequest
from gateval.gateway.door import Gateway
from gateval.gateway.faults import http_status, sentence, status_error, unreadable
from gateval.gateway.http_client import Answer
from gateval.gateway.routing import route
from gateval.gateway.session import Session
from gateval.gateway.trial_calls import TrialCalls
from gateval.ports import ModelCallError
from gateval.wire.base import WireError, WireFormat
from gateval.wire.json_text import read_object, write_json
from gateval.wire.registry import WIRE_FORMATS


class Reply(NamedTuple):
    """What a candidate gets: an HTTP status and a JSON body in its wire format."""

    status: int
    body: bytes


def error_reply(wire: WireFormat, status: int, message: str) -> Reply:
    """Return an error of our own in the shape of the wire format."""
    return Reply(status, wire.encode_error(status, message))


class Outcome(NamedTuple):
    """What a candidate gets, and what is recorded: the reply, or a sentence on what failed.

    `error` is set when the model could not be asked, or answered with an error.
    """

    reply: Reply
    recorded: ModelReply | str
    error: ModelCallError | None = None


async def answer_call(
    gateway: Gateway, session: Session, trial: TrialCalls, wire_name: str, body: bytes
) -> Reply:
    """Answer a request that came in the format `wire_name`, and record it in the trial.

    Never raises for anything that a candidate or a provider does.
    """
    wire = WIRE_FORMATS[wire_name]
    request, model = None, ""
    try:
        fields = read_object(body)
        request = wire.decode_request(body)
        _refuse_streaming(fields)
        model = route(request.model, session.models, wire_name)
        outcome = await _ask(gateway, session, model, wire_name, request, fields)
    except WireError as error:
        outcome = _failure(wire, 400, sentence(f"The request cannot be passed on: {error}"))
    except ModelCallError as error:
        outcome = _failure(wire, http_status(error), error.message)._replace(error=error)
    trial.went(outcome.error)
    if request is None or isinstance(outcome.recorded, str):
        trial.recorder.error(request, str(outcome.recorded))
    else:
        trial.recorder.reply(model, request, outcome.recorded)
    return outcome.reply


def _refuse_streaming(fields: JsonObject) -> None:
    if fields.get("stream"):
        raise WireError("it asks for a stream, and this gateway does not stream yet")


def _failure(wire: WireFormat, status: int, message: str) -> Outcome:
    return Outcome(error_reply(wire, status, message), message)


async def _ask(
    gateway: Gateway,
    session: Session,
    model: str,
    wire_name: str,
    request: ModelRequest,
    fields: JsonObject,
) -> Outcome:
    """Ask `model` through the neutral form, or with the candidate's own body if formats agree."""
    wire = WIRE_FORMATS[wire_name]
    provider, _, model_id = model.partition("/")
    if provider == SCRIPTED_PROVIDER or gateway.upstream(model).wire != wire_name:
        said = await gateway.call(model, request, side=session.side)
        return Outcome(Reply(200, wire.encode_reply(said, request)), said)
    # Only the name of the model is rewritten: what the neutral form does not know must survive.
    body = write_json({**fields, "model": model_id})
    return _passed_back(provider, wire, await gateway.exchange(gateway.upstream(model), body))


def _passed_back(provider: str, wire: WireFormat, got: Answer) -> Outcome:
    """Return an answer as it came. Raises `ModelCallError` for a success that is no reply."""
    if got.status >= 400:
        error = status_error(provider, got.status, wire.decode_error(got.body))
        return Outcome(
            Reply(got.status, _error_body(wire, got, error.message)), error.message, error
        )
    try:
        return Outcome(Reply(got.status, got.body), wire.decode_reply(got.body))
    except WireError as unread:
        raise unreadable(provider, str(unread))


def _error_body(wire: WireFormat, got: Answer, message: str) -> bytes:
    """Return the provider's own error, which agents may look into, or ours if it has no shape."""
    try:
        is_shaped = isinstance(read_object(got.body).get("error"), dict)
    except WireError:
        is_shaped = False
    return got.body if is_shaped else wire.encode_error(got.status, message)
