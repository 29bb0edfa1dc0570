"""Whether an account cannot pay, which providers say by statuses that otherwise mean other things:
too many requests, or a wrong one. Waiting does not mend it, and it is no fault of who asked.
"""

from __future__ import annotations

from gateval.wire.base import WireError
from gateval.wire.json_text import read_object

_STATUSES = frozenset({400, 403, 429})
_CODES = frozenset({
    "insufficient_quota", "billing_not_active", "billing_hard_limit_reached", "billing_error",
})  # fmt: skip
"""OpenAI's `error.code` or `error.type`, and Anthropic's `error.type`."""

_SENTENCE = "Your credit balance is too low"
"""How Anthropic's message begins, whose type is that of any wrong request."""


def cannot_pay(status: int, body: bytes) -> bool:
    """Whether an answer with this HTTP status says that the account has nothing left.

    A message that quotes the request is no such answer: only its beginning and its code count.
    """
    if status not in _STATUSES:
        return False
    try:
        error = read_object(body).get("error")
    except WireError:
        return False
    if not isinstance(error, dict):
        return False
    coded = any(str(error.get(key)) in _CODES for key in ("code", "type"))
    return coded or str(error.get("message", "")).startswith(_SENTENCE)
