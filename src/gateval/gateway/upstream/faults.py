"""What went wrong in a model call, in one word and in one sentence."""

from __future__ import annotations

from gateval.ports.model_calls import ModelCallError, ModelCallFault

_MEANINGS = {
    401: "the key is refused",
    402: "the account cannot pay",
    403: "the key is not allowed to do this",
    404: "no such model or address; look at spec.models of the Agent or judge.model of the Eval",
    413: "the request is too large",
    429: "too many requests",
    529: "overloaded",
}
_STATUSES = {
    ModelCallFault.OUTAGE: 503,
    ModelCallFault.DENIED: 403,
    ModelCallFault.REJECTED: 400,
    ModelCallFault.UNREADABLE: 502,
    ModelCallFault.UNCONFIGURED: 400,
    ModelCallFault.BUDGET: 429,
    ModelCallFault.HELD: 503,
}


def fault_of(status: int) -> ModelCallFault:
    """Return the fault that an HTTP status other than 2xx stands for."""
    if status in {401, 402, 403}:
        return ModelCallFault.DENIED
    if status in {408, 429} or status >= 500:
        return ModelCallFault.OUTAGE
    return ModelCallFault.REJECTED if status >= 400 else ModelCallFault.UNREADABLE


def status_text(status: int, said: str, *, no_quota: bool = False) -> str:
    """Return the end of a sentence on an answer other than 2xx; `said` is its own message.

    `no_quota` where it says that the account has nothing left, which waiting does not mend.
    """
    meaning = _MEANINGS.get(status, "")
    if no_quota:
        meaning = "the account has no quota left; look at its plan and billing"
    if 300 <= status < 400:
        meaning = "a redirect, which is not followed; check the base URL"
    detail = f" ({meaning})" if meaning else ""
    return f"answered {status}{detail}{f': {said}' if said else ''}"


def status_error(provider: str, status: int, said: str) -> ModelCallError:
    """Return the error for an answer with a status other than 2xx; `said` is its own message."""
    message = sentence(f"{provider} {status_text(status, said)}")
    return ModelCallError(fault_of(status), message, status=status)


def unreadable(provider: str, why: str) -> ModelCallError:
    """Return the error for a 2xx answer that is no reply; `why` is a `WireError`'s text."""
    message = sentence(f"{provider} answered with {why}")
    return ModelCallError(ModelCallFault.UNREADABLE, message)


def http_status(error: ModelCallError) -> int:
    """Return the status with which the local server passes `error` on to a candidate.

    That of an account without quota is one that clients take for final: they try 429 again.
    """
    if error.lasting and error.status == 429:
        return _STATUSES[error.fault]
    if error.status is not None and error.status >= 400:
        return error.status
    return _STATUSES[error.fault]


def sentence(text: str) -> str:
    """Return `text` with a full stop, unless it ends like a sentence already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
