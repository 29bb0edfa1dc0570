"""A candidate's request to have texts measured: embeddings, moderation."""

from __future__ import annotations

from gateval.domain.manifests.scripted import SCRIPTED_PROVIDER
from gateval.domain.trials.input_call import InputReply, InputRequest
from gateval.gateway.local.call import Call, Reply
from gateval.gateway.measuring import measure
from gateval.ports.model_calls import ModelCallError
from gateval.wire.base import WireError
from gateval.wire.inputs.base import InputFormat
from gateval.wire.json_text import write_json
from gateval.wire.registry import INPUT_FORMATS


class InputCall(Call):
    """A request without a conversation: its tokens count, and it is no step of the trace."""

    _request: InputRequest | None = None

    def _read(self, body: bytes) -> str:
        self._request = self._wire.decode_request(body)
        return self._request.model

    @property
    def _wire(self) -> InputFormat:
        return INPUT_FORMATS[self._name]

    async def _pass_on(self, model: str) -> Reply:
        """Ask `model` with the candidate's own body if it speaks this format, else through the
        neutral form.
        """
        if self._request is None:
            raise WireError("nothing was asked")
        provider, _, model_id = model.partition("/")
        upstream = None if provider == SCRIPTED_PROVIDER else self._gateway.upstream(model)
        sender = self._gateway.for_candidates
        self._tries.most = 0
        try:
            if upstream is None or not upstream.speaks(self._name):
                found = await measure(
                    self._gateway,
                    model,
                    self._wire.kind,
                    self._request,
                    side=self._session.side,
                    sender=sender,
                    tries=self._tries,
                )
                self._measured(model, found)
                return Reply(200, self._wire.encode_reply(found, self._request, self._fields))
            body = write_json(self._wire.for_model(self._fields, model_id))
            got = await sender.exchange(upstream, self._name, model_id, body, self._tries)
        except ModelCallError as error:
            error.cost = self._tries.cost
            raise
        if got.measured is None:
            return self._rejected(model, got)
        self._measured(model, got.measured)
        return Reply(got.status, got.body)

    def _measured(self, model: str, found: InputReply) -> None:
        usage = found.usage and self._gateway.pricing.usage(
            model, found.usage, answered=found.model
        )
        self._trial.measured(model, usage)
